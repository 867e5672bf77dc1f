"""The agent in simulated time: recordings as cameras, with faults, so that neither a board nor a day is needed to try it."""

from edgemem.device.simulation.faults import Faults, read_faults
from edgemem.device.simulation.run import SimulationReport, simulate

__all__ = ["Faults", "SimulationReport", "read_faults", "simulate"]
