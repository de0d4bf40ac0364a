"""The stubs say what the module has: the same names, and the same parameters in the same order."""

import ast
import inspect
import shutil
import subprocess
import unittest
from pathlib import Path

import stratagemm as sg

STUBS = Path(sg.__file__).with_suffix(".pyi")


def parameters(definition):
    """Names, kinds and defaults of a definition in a tree of syntax, without self."""
    a = definition.args
    by_place = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(by_place) - len(a.defaults)) + a.defaults
    all_of = [(x.arg, "place", d and ast.unparse(d)) for x, d in zip(by_place, defaults)]
    all_of += [("*" + a.vararg.arg, "place", None)] if a.vararg else []
    all_of += [(x.arg, "name", d and ast.unparse(d)) for x, d in zip(a.kwonlyargs, a.kw_defaults)]
    return [p for p in all_of if p[0] != "self"]


def stated(function):
    """The same of a function: of its source, or, for one in C, of the first line of its text."""
    if inspect.isfunction(function):
        return parameters(ast.parse(inspect.getsource(function).strip()).body[0])
    line = function.__doc__.partition("\n")[0]
    return parameters(ast.parse(f"def {line}: pass").body[0])


class Stubs(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse(STUBS.read_text())

    def definitions(self, body):
        found = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(node)
        return found

    def test_names(self):
        names = {n.name for n in self.tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        names |= {n.target.id for n in self.tree.body if isinstance(n, ast.AnnAssign)}
        public = {n for n in names if not n.startswith("_")}
        self.assertEqual(public, set(sg.__all__))
        self.assertTrue(set(sg.__all__) <= set(dir(sg)))
        self.assertTrue(STUBS.with_name("py.typed").exists())

    def test_functions(self):
        for name, definitions in self.definitions(self.tree.body).items():
            # Of overloads, the first has the defaults.
            found, expected = parameters(definitions[0]), stated(getattr(sg, name))
            if name == "explain":  # whose text names the arguments of gemm()
                expected = stated(sg.gemm)
            self.assertEqual(found, expected, name)

    def test_classes(self):
        for node in self.tree.body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            known = {n for n in self.definitions(node.body) if n != "__buffer__"}
            known |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            made = getattr(sg, node.name)
            has = {n for n in vars(made) if not n.startswith("__") or n.startswith("__dlpack")}
            has |= set(vars(made).get("__annotations__", ()))
            self.assertEqual(known - {"__init__", "__new__"}, has, node.name)
        run = self.definitions(next(n for n in self.tree.body if getattr(n, "name", "") == "Plan").body)["run"]
        self.assertEqual(parameters(run[0]), stated(sg.Plan.run))

    def test_type_checker(self):
        if not shutil.which("mypy"):
            self.skipTest("no mypy here")
        program = ("import numpy as np, stratagemm as sg\n"
                   "x: str = sg.explain(np.eye(2), np.eye(2))\ny: int = sg.plan(1, 1, 1)")
        said = subprocess.run(["mypy", "-c", program], capture_output=True, text=True, cwd=STUBS.parents[1]).stdout
        self.assertIn("Incompatible types in assignment", said)
        self.assertEqual(said.count("error:"), 1, said)


if __name__ == "__main__":
    unittest.main()
