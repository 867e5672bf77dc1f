"""How the house speaks to a language model: within caps, blackened, repaired, recorded. Planners, tools and writers all ask here."""
