"""The documentation site: pages that are generated from the code, and what checks the built site."""
