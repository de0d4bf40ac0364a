"""The interpreter's lock, fork, and what is left behind."""

import os
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import stratagemm as sg


class Processes(unittest.TestCase):
    def test_the_lock_is_released(self):
        # While one thread multiplies, this one counts. With the lock held it would not count at all.
        a = np.ones((1500, 1500))
        thread = threading.Thread(target=sg.gemm, args=[a, a])
        counted = 0
        thread.start()
        while thread.is_alive():
            counted += 1
            time.sleep(0.0005)
        self.assertGreater(counted, 2)

    def test_fork(self):
        a = np.random.default_rng(1).standard_normal((300, 300))
        expected = sg.gemm(a, a)
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if (sg.gemm(a, a) == expected).all() else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_threads(self):
        # Those of the module, which brings no runtime of OpenMP: the caller is the first of three.
        count = ("import os, numpy, stratagemm as sg; a = numpy.ones((700, 700))\n"
                 "before = len(os.listdir('/proc/self/task')); sg.gemm(a, a)\n"
                 "print(len(os.listdir('/proc/self/task')) - before)")
        for asked, started in ("3", "2"), ("1", "0"):
            said = subprocess.run([sys.executable, "-c", count], env={**os.environ, "OMP_NUM_THREADS": asked},
                                  capture_output=True, text=True, check=True)
            self.assertEqual(said.stdout.strip(), started)

    def test_references(self):
        a, b, c = np.ones((3, 3)), np.ones((3, 3)), np.ones((3, 3))
        counts = [sys.getrefcount(x) for x in (a, b, c, sg.relu)]
        for _ in range(100):
            sg.gemm(a, b, c, epilogue=sg.relu, alpha=2.0)
            sg.gemm(a, b)
            sg.factored(a, b).T.conj()
            try:
                sg.gemm(a, b[:2], c)
            except ValueError:
                pass
        self.assertEqual(counts, [sys.getrefcount(x) for x in (a, b, c, sg.relu)])


if __name__ == "__main__":
    unittest.main()
