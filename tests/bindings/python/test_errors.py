"""What is refused, and how: with the sentences of the library, and before anything is written."""

import unittest

import numpy as np
import stratagemm as sg

a, b, c = np.ones((3, 4)), np.ones((4, 5)), np.full((3, 5), 7.0)


def read_only():
    x = np.zeros((3, 5))
    x.flags.writeable = False
    return x


class Errors(unittest.TestCase):
    def refused(self, error, what, *arguments, **named):
        c[:] = 7
        with self.assertRaisesRegex(error, what):
            sg.gemm(*arguments, **named)
        self.assertTrue((c == 7).all())

    def test_shapes(self):
        self.refused(ValueError, "gemm: A is 3 x 4, B is 3 x 4 and C is 3 x 5; C = A B needs", a, a, c)
        self.refused(ValueError, "A is 3 x 4, B is 4 x 5 and C is 5 x 3", a, b, np.ones((5, 3)))
        self.refused(ValueError, "a: it has 1 dimension", a[0], b)
        self.refused(ValueError, "b: it has 0 dimensions", a, np.float64(3))
        self.refused(ValueError, "a: it has 9 dimensions, and 8 are the most", np.ones((1,) * 9), b)
        self.refused(ValueError, "A has 2 matrices along a dimension in which C has 3", np.ones((2, 3, 4)),
                     np.ones((4, 5)), np.ones((3, 3, 5)))
        self.refused(ValueError, "the added matrix must have the shape of C", a, b, c, add=np.ones((5, 3)))
        self.refused(ValueError, "more dimensions than C", np.ones((2, 3, 4)), b, c)
        self.refused(ValueError, "matrices along a dimension", np.ones((2, 3, 4)), np.ones((3, 4, 5)))

    def test_types(self):
        self.refused(TypeError, "no product of float64 and float32 into float64", a, b.astype("f4"), c)
        self.refused(TypeError, "no product of float64 and float64 into float32", a, b, c.astype("f4"))
        self.refused(TypeError, "to which float32 is added", a, b, c, add=c.astype("f4"))
        self.refused(TypeError, r"a: its elements are of no type that is multiplied here \('>d'\)", a.astype(">f8"), b)
        self.refused(TypeError, "a: its elements are of no type", a.astype("u1"), b)
        self.refused(TypeError, "no product of int64", a.astype("i8"), b.astype("i8"))
        self.refused(TypeError, "a: 'list' is no array", [[1.0]], b)
        self.refused(TypeError, "the policy split.host. multiplies no float64", a, b, c, policy="split(host)")
        self.refused(TypeError, "alpha and beta are real numbers", a, b, c, alpha=1j)
        self.refused(TypeError, "whole numbers of 32 bits", np.ones((2, 2), "i1"), np.ones((2, 2), "i1"), alpha=0.5)
        self.refused(TypeError, "alpha: it is a real number", a, b, c, alpha="2")

    def test_memory(self):
        self.refused(ValueError, "out: it is read-only", a, b, read_only())
        square = np.ones((4, 4))
        self.refused(ValueError, "C overlaps", square, square, square)
        self.refused(ValueError, "address|overlap", np.ones((2, 4, 4)), square,
                     np.lib.stride_tricks.as_strided(c, (2, 4, 4), (8, 0, 0)))

    def test_arguments(self):
        self.refused(TypeError, "gemm: 'b' is missing", a)
        self.refused(TypeError, "gemm: there is no argument 'c'", a, b, c=c)
        self.refused(TypeError, "gemm: 'out' is given twice", a, b, c, out=c)
        self.refused(TypeError, "4 arguments without a name", a, b, c, 2)
        self.refused(ValueError, "neither is given", a, b, beta=1)
        self.refused(ValueError, "names no policy: character 6 is wrong. Valid names: host, ", a, b, c,
                     policy="strasen(host)")
        self.refused(ValueError, "it ends too early", a, b, c, policy="strassen(")
        self.refused(ValueError, "is for arrays on CUDA devices, and these lie on the host. Valid names: host, ", a, b,
                     policy="ozaki(cuda)")
        self.refused(TypeError, "policy: it is a string", a, b, c, policy=3)

    def test_epilogues(self):
        self.refused(ValueError, "'tanh' is none", a, b, c, epilogue="tanh")
        self.refused(TypeError, "epilogue: it is relu", a, b, c, epilogue=3)
        self.refused(ValueError, "epilogue", a, b, c, epilogue=sg.bias(np.ones(4)))
        self.refused(TypeError, "values of bias and scale have the type of C", a, b, c,
                     epilogue=sg.bias(np.ones(5, "f4")))
        self.refused(ValueError, "have one dimension", a, b, c, epilogue=sg.bias(np.ones((5, 1))))
        self.refused(TypeError, "relu, gelu and clamp are for real numbers", a + 0j, b + 0j, epilogue="relu")
        self.refused(TypeError, "numbers of clamp and scale", a, b, c, epilogue=sg.scale(1j))
        with self.assertRaisesRegex(ValueError, "'columns' or 'rows'"):
            sg.bias(np.ones(5), along="lines")

    def test_plans(self):
        for arguments, what in [((-1, 2, 3), "must not be negative"), ((2, 2, 2, "U3"), "no type"),
                                ((2, 2, 2, "int32"), "no product of int32")]:
            with self.assertRaisesRegex((ValueError, TypeError), what):
                sg.plan(*arguments)
        plan = sg.plan(3, 5, 4)
        with self.assertRaisesRegex(TypeError, "made for float64"):
            plan.run(a.astype("f4"), b.astype("f4"))
        with self.assertRaisesRegex(ValueError, "the plan was made for 3 x 5 x 4"):
            plan.run(b.T, a.T)
        with self.assertRaisesRegex(TypeError, "its policy is chosen"):
            plan.run(a, b, policy="host")

    def test_makers(self):
        for made in [sg.array, sg.operand, sg.Plan]:
            with self.assertRaises(TypeError):
                made()


if __name__ == "__main__":
    unittest.main()
