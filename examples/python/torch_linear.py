"""A linear layer of PyTorch on the processor whose products, forward and backward, are rooftile's: tensors are read and written
where they are.

Exit code 0: results and gradients are those of float64, within bounds that are derived below; 77: PyTorch is not installed.
                                                                               torch_linear.py [ROWS [INPUTS [OUTPUTS]]]
"""
import sys

import rooftile as rt

try:
    import torch
except ImportError:
    print("PyTorch is not installed (python3-torch)")
    sys.exit(77)

UNIT = 2.0**-24  # relative error of one float32 rounding


class Product(torch.autograd.Function):
    """x @ weight.T + bias."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return rt.matmul(x.detach(), weight.detach().T, bias=bias.detach())

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        gradient = gradient.detach()
        return rt.matmul(gradient, weight.detach()), rt.matmul(gradient.T, x.detach()), gradient.sum(0)


class Linear(torch.nn.Linear):
    """torch.nn.Linear with a bias, for matrices."""

    def forward(self, x):
        return Product.apply(x, self.weight, self.bias)


def worst(found, a, b, more=0):
    """Largest error of a @ b + more, of the bound for sums of float32 products."""
    a, b = a.double(), b.double()
    magnitude = a.abs() @ b.abs() + abs(more)
    return ((found.double() - (a @ b + more)).abs() / (magnitude * (a.shape[1] + 2) * UNIT)).max().item()


def main(rows=500, inputs=300, outputs=200):
    torch.manual_seed(3)
    layer, x = Linear(inputs, outputs), torch.randn(rows, inputs, requires_grad=True)
    y = layer(x)
    print(f"forward: {rt.last_decision().tier}")
    target = torch.randn(rows, outputs)
    (y * target).sum().backward()  # the gradient of y is target
    errors = {
        "result": worst(y.detach(), x.detach(), layer.weight.detach().T, layer.bias.detach().double()),
        "gradient of x": worst(x.grad, target, layer.weight.detach()),
        "gradient of the weights": worst(layer.weight.grad, target.T, x.detach()),
    }
    print("largest error of its bound: " + ", ".join(f"{what} {error:.3f}" for what, error in errors.items()))
    right = max(errors.values()) <= 1
    print("right" if right else "wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
