"""Results that keep their gradients, by retain_grad()."""

RETAINING = {}  # by id: [weak reference, number of the hook, hook, version it was set at]


def retain_anew():
    """What was written to since retain_grad() keeps the gradient of what it is now."""
    if not RETAINING:
        return
    for kept in list(RETAINING.values()):
        x = kept[0]()
        if x is not None and x._version != kept[3]:
            x._remove_hook(kept[1])
            kept[1], kept[3] = x._add_hook(kept[2]), x._version
