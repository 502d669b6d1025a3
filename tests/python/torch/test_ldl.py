"""torch.linalg.ldl_factor and ldl_solve beside PyTorch's, which are LAPACK's: the same pivots, the same places."""
import pytest

import tenon.torch as ours


@pytest.mark.parametrize('hermitian', [False, True])
@pytest.mark.parametrize('name', ['float64', 'complex128'])
@pytest.mark.parametrize('hollow', [False, True])
def test_factors(torch, name, hermitian, hollow):
    torch.manual_seed(0)
    for n in (1, 2, 3, 5, 9):
        A = torch.randn(3, n, n, dtype=getattr(torch, name))
        A = A + (A.mH if hermitian else A.mT)
        if hollow and n > 1:  # zeros on the diagonal need blocks 2 × 2
            A = A * (1 - torch.eye(n))
        theirs, mine = torch.linalg.ldl_factor_ex(A, hermitian=hermitian), ours.linalg.ldl_factor_ex(ours.tensor(A.numpy()), hermitian=hermitian)
        assert torch.allclose(torch.tensor(mine.LD.numpy()), theirs.LD, atol=1e-9)
        assert mine.pivots.tolist() == theirs.pivots.tolist() and mine.info.tolist() == theirs.info.tolist() == [0, 0, 0]
        assert not hollow or n == 1 or min(mine.pivots.tolist()[0]) < 0
        B = torch.randn(3, n, 2, dtype=A.dtype)
        X = ours.linalg.ldl_solve(mine.LD, mine.pivots, ours.tensor(B.numpy()), hermitian=hermitian)
        assert torch.allclose(A @ torch.tensor(X.numpy()), B, atol=1e-8)


def test_errors():
    assert ours.linalg.ldl_factor_ex(ours.zeros(2, 2)).info.item() == 1
    with pytest.raises(ValueError, match='singular'):
        ours.linalg.ldl_factor_ex(ours.zeros(2, 2), check_errors=True)
    with pytest.raises(ValueError, match='square'):
        ours.linalg.ldl_factor(ours.zeros(2, 3))
    with pytest.raises(ValueError, match='do not fit'):
        ours.linalg.ldl_solve(ours.eye(2), ours.tensor([1, 2], dtype=ours.int32), ours.ones(3, 1))
