"""Epilogues: what happens to each element of C before it is stored."""


class Epilogue:
    """One or more steps. Made by relu, gelu, clamp(), scale(), bias() and then()."""

    __slots__ = ("steps",)

    def __init__(self, *steps):
        self.steps = steps

    def __repr__(self):
        return "stratagemm.Epilogue(" + ", ".join(step[0] for step in self.steps) + ")"


relu = Epilogue(("relu", 0, 0, None, False))
gelu = Epilogue(("gelu", 0, 0, None, False))


def clamp(low, high):
    """Elements below `low` become `low`, and those above `high` become `high`."""
    return Epilogue(("clamp", low, high, None, False))


def scale(factor, along="columns"):
    """Multiplies by a number; or by a vector, which has one number for each column, or for each row."""
    if getattr(factor, "shape", ()) or isinstance(factor, memoryview):
        return Epilogue(("scale_lines", 0, 0, factor, _by_rows(along)))
    return Epilogue(("scale", factor, 0, None, False))


def bias(values, along="columns"):
    """Adds a vector, which has one number for each column, or for each row."""
    return Epilogue(("bias", 0, 0, values, _by_rows(along)))


def then(*epilogues):
    """One epilogue after another."""
    return Epilogue(*(step for one in epilogues for step in steps_of(one)))


def steps_of(epilogue):
    """The steps of an epilogue, or of the name of one."""
    if isinstance(epilogue, str):
        named = {"relu": relu, "gelu": gelu}
        if epilogue not in named:
            raise ValueError(f"epilogue: {epilogue!r} is none; by name there are 'relu' and 'gelu'")
        epilogue = named[epilogue]
    if not isinstance(epilogue, Epilogue):
        raise TypeError("epilogue: it is relu, gelu, or what clamp(), scale(), bias() or then() makes")
    return epilogue.steps


def _by_rows(along):
    if along not in ("columns", "rows"):
        raise ValueError(f"along: it is 'columns' or 'rows', and not {along!r}")
    return along == "rows"
