"""SDF: links with poses of their own, joints between any of them."""
