"""The names of the Array API (https://data-apis.org/array-api/2024.12/) that are no op of the table, or do more than one."""
from .._core import Tensor, ops
from . import shapes, values
from .dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from .info import __array_namespace__, __array_namespace_info__
from .shapes import *
from .values import *

# The table's ops under their names in the standard.
subtract, multiply, divide, negative = ops['sub'], ops['mul'], ops['div'], ops['neg']
bitwise_invert = ops['bitwise_not']

setattr(Tensor, '__array_namespace__', __array_namespace__)

__all__ = ['__array_namespace_info__', 'astype', 'can_cast', 'finfo', 'iinfo', 'isdtype', 'result_type', 'subtract',
           'multiply', 'divide', 'negative', 'bitwise_invert']
__all__ += shapes.__all__
__all__ += values.__all__
