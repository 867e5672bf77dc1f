"""From a source to stored moments: sources, gates, selectors, segmenters, writers, and the pipeline that runs them."""
