"""Times products of torch on a CUDA device, and says whether they are right and come out the same again:
    python3 torch_times.py [FILTER] >before
    LD_PRELOAD=.../libstratagemm-cublas.so python3 torch_times.py [FILTER] >after
Compare the two files line by line; each line is a case, its milliseconds, and its error relative to a product in double.
Without FILTER two runs of training have to give the same bits, else the program ends with status 1; FILTER `training`
is that alone.
"""

import hashlib
import sys

import torch

torch.backends.cuda.matmul.allow_tf32 = False
wanted = sys.argv[1] if len(sys.argv) > 1 else ""
device = torch.device("cuda")


def milliseconds(f):
    """The median of five rounds of calls, each after a warm-up."""
    for _ in range(3):
        f()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin.record()
        for _ in range(5):
            f()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 5)
    return sorted(times)[2]


def case(name, f, exact):
    if not name.startswith(wanted):
        return
    rows = f()
    error = ((rows[..., :4, :].double() - exact()).abs().max() / exact().abs().max()).item()
    print(f"{name:40s} {milliseconds(f):10.4f} ms   error {error:.1e}", flush=True)


def products():
    for dtype, sizes in (
        (torch.float64, (1024, 4096, 8192, 16384)),
        (torch.float32, (1024, 4096, 8192)),
        (torch.bfloat16, (1024, 4096, 8192)),
        (torch.float16, (4096,)),
    ):
        name = str(dtype)[6:]
        for n in sizes:
            a = torch.randn(n, n, dtype=dtype, device=device)
            b = torch.randn(n, n, dtype=dtype, device=device)
            case(f"mm {name} {n}", lambda a=a, b=b: a @ b, lambda a=a, b=b: a[:4].double() @ b.double())
            del a, b
            torch.cuda.empty_cache()
        for tokens, width, out in ((512, 1024, 4096), (4096, 4096, 4096)):
            layer = torch.nn.Linear(width, out, dtype=dtype, device=device)
            x = torch.randn(tokens, width, dtype=dtype, device=device)
            with torch.no_grad():
                case(
                    f"Linear {name} {tokens}x{width}x{out}",
                    lambda layer=layer, x=x: layer(x),
                    lambda layer=layer, x=x: x[:4].double() @ layer.weight.double().T + layer.bias.double(),
                )
        a = torch.randn(64, 512, 64, dtype=dtype, device=device)
        b = torch.randn(64, 64, 512, dtype=dtype, device=device)
        case(f"bmm {name} 64x512x512x64", lambda a=a, b=b: a @ b, lambda a=a, b=b: a[:, :4].double() @ b.double())


def train(dtype):
    """Some steps of a small network, and its weights as a hash."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device, dtype)
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(256, 784, device=device, dtype=dtype)
    y = torch.randint(0, 10, (256,), device=device)
    for _ in range(20):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).float(), y)
        loss.backward()
        step.step()
    bits = b"".join(p.detach().float().cpu().numpy().tobytes() for p in model.parameters())
    return loss.item(), hashlib.sha256(bits).hexdigest()[:16]


def graph():
    """A captured network gives what it gives outside of the graph."""
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 64)).to(device)
    x = torch.randn(128, 256, device=device)
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                model(x)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            y = model(x)
        x.copy_(torch.randn(128, 256, device=device))
        captured.replay()
        torch.cuda.synchronize()
        return (y - model(x)).abs().max().item()


same = True
if wanted != "training":
    products()
if wanted in ("", "training"):
    for kind in (torch.float32, torch.bfloat16):
        first, second = train(kind), train(kind)
        same = same and first == second
        again = "the same again" if first == second else f"DIFFER: {second}"
        print(f"training in {str(kind)[6:]}: loss {first[0]:.6f}, weights {first[1]} {again}")
    print(f"a captured network differs by {graph():.1e}")
sys.exit(not same)
