"""HTML pages that need no other file: markup, the one style, charts, bundled scripts. Knows no robot."""
