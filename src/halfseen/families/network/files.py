"""Reading and writing Bayesian networks as BIF and XMLBIF files."""

from __future__ import annotations

import os

from sklearn.utils.validation import check_is_fitted

from halfseen.errors import DataError, ParameterError
from halfseen.families.network.bif import BifNetwork
from halfseen.families.network.estimator import BayesNet
from halfseen.families.network.formats import read_network_file, write_network_file


def read_bif(path: str | os.PathLike[str]) -> BayesNet:
    """Read a Bayesian network from a BIF or XMLBIF file: of the bnlearn repository, pgmpy, pyAgrum and others.

    The network can be queried at once. `fit` estimates its tables from data; variables of the network without a
    column are then hidden, with the states of the file.

    Parameters
    ----------
    path : str or path
        A file whose first character is ``<`` is read as XMLBIF, independent of its name.

    Raises
    ------
    DataError
        The message names the file, the line and the error.

    Examples
    --------
    >>> import halfseen as hs, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "rain.bif")
    >>> tables = {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
    >>> hs.write_bif(hs.BayesNet.from_params(tables, [("rain", "wet")], {"rain": ["no", "yes"]}), path)
    >>> hs.read_bif(path).query("rain", {"wet": "1"})
    rain
    no    0.333333
    yes   0.666667
    """
    found = read_network_file(path)
    edges = [*found.states, *((p, name) for name, own in found.parents.items() for p in own)]
    try:
        model = BayesNet.from_params(found.tables, edges, found.states)
    except ParameterError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from error
    return model


def write_bif(model: BayesNet, path: str | os.PathLike[str]) -> None:
    """Write a Bayesian network as a BIF file that bnlearn, pgmpy and pyAgrum read.

    If the name ends in ``.xmlbif``, ``.bifxml`` (pyAgrum's) or ``.xml`` it is an XMLBIF file. States become text.
    Numbers are written so that they are read back to the last bit. A name with the extension of another format, such as
    ``.xdsl``, ``.net`` or ``.uai``, is refused.
    """
    if not isinstance(model, BayesNet):
        raise ParameterError(f"a {type(model).__name__} is not a BayesNet: only networks have BIF files.")
    check_is_fitted(model, "_params")
    states = {name: tuple(map(str, own)) for name, own in model.states_.items()}
    for name, own in states.items():
        if len(set(own)) < len(own):
            raise ParameterError(f"two states of {name!r} are the same as text: {', '.join(own)}.")
    write_network_file(BifNetwork(states, model.parents_, model.params_), path)
