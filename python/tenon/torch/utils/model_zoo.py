"""torch.utils.model_zoo: nothing is downloaded here."""
from .._common import absent

__getattr__ = absent(__name__, dict.fromkeys(('load_url', 'load_state_dict_from_url'), 'download the file, and read it with torch.load'))
