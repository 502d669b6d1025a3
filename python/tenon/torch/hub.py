"""torch.hub: nothing is downloaded here."""
from ._common import absent

__getattr__ = absent(__name__, dict.fromkeys('load load_state_dict_from_url download_url_to_file list help get_dir set_dir'.split(),
                                             'download the file, and read it with torch.load'))
