"""From the solved notebooks in `solutions/` to what students get: lessons, bundles, and updates that keep answers."""
