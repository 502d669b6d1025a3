"""Functions with custom gradients: of gradients, of several results, in place, forward and under vmap."""
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        result, = ctx.saved_tensors
        return g * result


x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Exp.apply(x)
first, = torch.autograd.grad(y.sum(), x, create_graph=True)
second, = torch.autograd.grad(first.sum(), x, create_graph=True)
third, = torch.autograd.grad(second.sum(), x)
print(y, first, second, third, y.grad_fn.name())


class Cube(Function):
    @staticmethod
    def forward(x):
        return x ** 3, 3 * x ** 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.saved_tensors[1]


x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
cubes, slopes = Cube.apply(x)
print(torch.autograd.gradcheck(lambda x: Cube.apply(x)[0], x), cubes.requires_grad, slopes.requires_grad)


class Scaled(Function):
    @staticmethod
    def forward(ctx, a, b, k=2, name='no tensor'):
        ctx.k = k
        ctx.save_for_backward(a, b)
        ctx.set_materialize_grads(False)
        return a * b * k, a + b

    @staticmethod
    def backward(ctx, of_product, of_sum):
        print('needs', ctx.needs_input_grad, of_product, of_sum)
        a, b = ctx.saved_tensors
        return of_product * b * ctx.k, of_product * a * ctx.k, None, None


a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
product, total = Scaled.apply(a, b, 5)  # backward gives one None more than there are arguments
product.backward()
print(a.grad, b.grad, product, total)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.ones(2, requires_grad=True)
y = x.clone()
print(Doubled.apply(y) is y, y.detach())
y.sum().backward()
print(x.grad)


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * 2


first, = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
try:
    first.sum().backward()
except RuntimeError:
    print('no second gradient')


class Sine(Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0].cos()

    @staticmethod
    def vmap(info, in_dims, x):
        print('vmap', info.batch_size, in_dims, info.randomness)
        return Sine.apply(x), in_dims[0]


x = torch.tensor([0.5, 1.0])
print(torch.func.jvp(Sine.apply, (x,), (torch.ones(2),)))
print(torch.func.vmap(Sine.apply)(x), torch.func.vmap(torch.func.grad(Sine.apply))(x))


class Product(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x @ y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x


rows, y = torch.arange(6.0).reshape(3, 2), torch.ones(2)
print(torch.func.vmap(Product.apply, (0, None))(rows, y))
print(torch.func.vmap(torch.func.grad(Product.apply, argnums=(0, 1)), (0, None))(rows, y))


def refused(function, *arguments):
    try:
        function.apply(*arguments).sum().backward()
    except (RuntimeError, TypeError) as error:
        print(function.__name__, issubclass(type(error), NotImplementedError))


class TooMany(Exp):
    @staticmethod
    def backward(ctx, g):
        return g, g


class WrongShape(Exp):
    @staticmethod
    def backward(ctx, g):
        return torch.ones(5)


class NoBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


for each in TooMany, WrongShape, NoBackward:
    refused(each, torch.ones(2, requires_grad=True))
refused(Exp, x, x)
