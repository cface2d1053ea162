"""PyTorch's tensors in the processor's memory. Skipped where PyTorch is not installed."""
import sys

import numpy
import pytest
import rooftile as rt

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")


@pytest.mark.parametrize("dtype,unit", [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_half_precision(dtype, unit):
    x, y = torch.rand(5, 33).to(getattr(torch, dtype)), torch.rand(33, 9).to(getattr(torch, dtype))
    exact = x.double() @ y.double()
    c = rt.matmul(x, y)
    assert c.dtype == x.dtype and c.shape == (5, 9)
    numpy.testing.assert_allclose(c.double().numpy(), exact, rtol=35 * 2.0**-23 + 2 * unit)
    wide = rt.matmul(x, y.T.contiguous().T, dtype_out=torch.float32)
    assert wide.dtype == torch.float32
    numpy.testing.assert_allclose(wide.numpy(), exact, rtol=35 * 2.0**-23)


def test_tensors_are_read_and_written_where_they_are():
    x, y, out = torch.rand(4, 5), torch.rand(3, 5).T, torch.full((4, 6), numpy.nan)
    product = rt.matmul(x, y)
    assert isinstance(product, torch.Tensor)
    numpy.testing.assert_allclose(product, x.double() @ y.double(), rtol=1e-6)
    view = out[:, :3]
    assert rt.matmul(x, y, out=view) is view
    numpy.testing.assert_allclose(view, product, rtol=1e-6)
    assert torch.isnan(out[:, 3:]).all()
    assert isinstance(rt.matmul(x.numpy(), y), numpy.ndarray)
    assert rt.matmul(x[0], y).shape == (3,)


def test_tensors_that_need_gradients_are_refused():
    x = torch.rand(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match="^a is a Tensor that is not handed over: .*require"):
        rt.matmul(x, x)
    with pytest.raises(ValueError, match="^out is a Tensor that is not handed over"):
        rt.matmul(x.detach(), x.detach(), out=x)


def test_types_that_pytorch_does_not_hand_over_are_named():
    x = torch.rand(2, 2)
    for bad in (x > 0, x.to(torch.complex64).conj(), torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)):
        with pytest.raises(TypeError, match=f"^a is {bad.dtype}, which is none of float32"):
            rt.matmul(bad, x)


def test_tensors_are_quantised():
    w = torch.rand(32, 3)
    assert (rt.matmul(torch.eye(32), rt.quantize(w)).numpy() == rt.matmul(numpy.eye(32, dtype="f4"), rt.quantize(w.numpy()))).all()
    with pytest.raises(TypeError, match="^weights is bfloat16; it has to be float32"):
        rt.quantize(w.bfloat16())
    with pytest.raises(ValueError, match="^weights is a Parameter that is not handed over"):
        rt.quantize(torch.nn.Parameter(w))


def test_tensors_whose_memory_has_other_signs_are_refused():
    x = torch.full((2, 2), 1 + 2j, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    for arguments in ((x, torch.eye(2)), (torch.eye(2), x), (torch.eye(2), torch.eye(2), x)):
        with pytest.raises(ValueError, match="^(a|b|out) is a Tensor with the negative bit.*resolve_neg"):
            rt.matmul(*arguments)
    assert (rt.matmul(x.resolve_neg(), torch.eye(2)) == -2).all()


def test_grouped_products():
    x, w = torch.rand(4, 5), torch.rand(2, 3, 5).transpose(1, 2)
    product = rt.matmul_grouped(x, w, torch.tensor([1, 2]), torch.tensor([1, 0]))
    assert isinstance(product, torch.Tensor) and (product[3] == 0).all()
    numpy.testing.assert_allclose(product[:1], x[:1].double() @ w[1].double(), rtol=1e-6)
    numpy.testing.assert_allclose(product[1:3], x[1:3].double() @ w[0].double(), rtol=1e-6)


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__]))
