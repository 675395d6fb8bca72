"""Draws figures and topologies for pages that load nothing: as SVG, in colours the page chooses."""
