"""Small acoustic models in the files of CMU Sphinx, of the made-up phones of `tests.sounds`."""

import itertools
import struct
from functools import cache

import numpy as np

from halfseen.families.transcript.sound.sphinx_features import sphinx_features
from tests.sounds import sound

PHONES = ("+SPN+", "SIL", "a", "b", "c", "d")
STATES, WIDTH, STREAMS = 3, 2, (13, 13, 13)
FEATURES = """\
-lowerf 130
-upperf 6800
-nfilt 25
-transform dct
-lifter 22
-feat 1s_c_d_dd
-svspec 0-12/13-25/26-38
-agc none
-cmn batch
-varnorm no
-model ptm
-remove_noise yes
"""


def s3(sizes, numbers, order="<", checksum=True):
    """Return a file that begins with s3."""
    values = np.asarray(numbers, dtype=order + "f4").ravel()
    body = struct.pack(f"{order}{len(sizes) + 1}i", *sizes, values.size) + values.tobytes()
    total = 0
    for word in np.frombuffer(body, dtype=order + "u4").tolist():
        total = ((total << 20 | total >> 12) + word) & 0xFFFFFFFF
    head = b"s3\nversion 1.0\n" + (b"chksum0 yes\n" if checksum else b"") + b"endhdr\n"
    end = struct.pack(f"{order}I", total) if checksum else b""
    return head + struct.pack(f"{order}I", 0x11223344) + body + end


def codebooks(table, order="<", streams=STREAMS):
    """Return `means` or `variances` of a (C, M, D) table: by codebook, stream and component."""
    cuts = np.cumsum([0, *streams])
    parts = [[one[:, a:b].ravel() for a, b in itertools.pairwise(cuts)] for one in table]
    sizes = [len(table), len(streams), table.shape[1], *streams]
    return s3(sizes, np.concatenate([part for one in parts for part in one]), order)


def text_mdef(n_senones=None, phones=PHONES):
    """Return an mdef in words."""
    n = len(phones) * STATES
    sizes = {"n_base": len(phones), "n_tri": 0, "n_state_map": 4 * len(phones), "n_tied_state": n_senones or n,
             "n_tied_ci_state": n, "n_tied_tmat": len(phones)}  # fmt: skip
    lines = ["0.3", *(f"{value} {name}" for name, value in sizes.items()), "# base lft  rt p attrib tmat ... state ids"]
    for i, phone in enumerate(phones):
        kind = "filler" if phone in ("SIL", "+SPN+") else "n/a"
        lines.append(f"{phone} - - - {kind} {i} {' '.join(str(STATES * i + s) for s in range(STATES))} N")
    return "\n".join(lines).encode() + b"\n"


def binary_mdef(order="<", phones=PHONES, n_nodes=2, n_senones=None):
    """Return an mdef as a program writes it, with a triphone that nobody needs."""
    n = len(phones) * STATES
    about = b"a description".ljust(16, b"\0")
    head = [len(phones), len(phones) + 1, STATES, n, n_senones or n, len(phones), len(phones), 3, n_nodes, 1]
    names = b"".join(name.encode() + b"\0" for name in phones)
    names += b"\0" * (-len(names) % 4)
    rows = np.arange(n, dtype=order + "u2")
    triples = [value for i in range(len(phones) + 1) for value in (i % len(phones), i % len(phones), 0)]
    return (
        (b"BMDF" if order == "<" else b"FDMB")
        + struct.pack(f"{order}2i", 1, len(about))
        + about
        + struct.pack(f"{order}{len(head)}i", *head)
        + names
        + b"\0" * (8 * n_nodes)
        + struct.pack(f"{order}{len(triples)}i", *triples)
        + struct.pack(f"{order}i", n)
        + rows.tobytes()
    )


def sendump(mix, order="<"):
    """Return weights (S, F, M) as bytes: -log to the base 1.0001, without its lowest 10 bits."""
    codes = np.clip(np.round(-np.log(mix) / np.log(1.0001) / 1024), 0, 255).astype(np.uint8)
    lines = [b"a title\0", f"feature_count {mix.shape[1]}\0".encode(), f"mixture_count {mix.shape[2]}\0".encode()]
    head = b"".join(struct.pack(f"{order}i", len(line)) + line for line in lines) + struct.pack(f"{order}i", 0)
    return head + struct.pack(f"{order}2i", mix.shape[2], mix.shape[0]) + codes.transpose(1, 2, 0).tobytes()


@cache
def tables(kind="ptm", seed=0):
    """Return means and variances (C, M, 39), weights (S, F, M) and transitions (U, S, S + 1) of the made-up phones."""
    rng = np.random.default_rng(seed)
    units = [unit for _ in range(12) for unit in ("sil", *rng.permutation(list("abcd")), "sil")]
    samples, times = sound(units, rng)
    frames = sphinx_features(samples, 16000)
    owner = np.array([unit for unit, _, _ in times])[
        np.searchsorted([end for _, _, end in times], (np.arange(len(frames)) + 0.5) / 100).clip(max=len(times) - 1)
    ]
    own = {"SIL": "sil", "+SPN+": "sil"}
    groups = [frames[owner == own.get(phone, phone)] for phone in PHONES]
    groups[0] = frames
    mean = np.stack([[group.mean(axis=0), group.mean(axis=0) + 0.1] for group in groups])
    var = np.stack([[group.var(axis=0) + 0.1] * WIDTH for group in groups])
    n_senones = len(PHONES) * STATES
    mix = rng.dirichlet(np.full(WIDTH, 5.0), (n_senones, len(STREAMS)))
    if kind == "cont":
        mean, var = np.repeat(mean, STATES, axis=0), np.repeat(var, STATES, axis=0)
    if kind == "semi":
        mean, var = mean.reshape(1, -1, 39), var.reshape(1, -1, 39)
        shares = np.repeat(np.eye(len(PHONES)), STATES, axis=0)[:, None, :, None] * mix[:, :, None, :]
        mix = shares.reshape(n_senones, len(STREAMS), -1) + 1e-6
        mix /= mix.sum(axis=2, keepdims=True)
    moves = np.zeros((len(PHONES), STATES, STATES + 1))
    leave = rng.uniform(0.1, 0.6, (len(PHONES), STATES))
    for s in range(STATES):
        moves[:, s, s], moves[:, s, s + 1] = 1 - leave[:, s], leave[:, s]
    return mean, var, mix, moves


def write_model(folder, kind="ptm", order="<", dump=True, binary=True, **files):
    """Write a model of the made-up phones; `files` replaces the contents of files, None leaves one out."""
    content = contents(kind, order, dump, binary)
    content = content | {name.replace("feat_params", "feat.params"): found for name, found in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in content.items():
        if found is not None:
            (folder / name).write_bytes(found)
    return folder


@cache
def contents(kind, order, dump, binary):
    """Return the files of a model, by their names."""
    mean, var, mix, moves = tables(kind)
    found = {
        "means": codebooks(mean, order),
        "variances": codebooks(var, order),
        "transition_matrices": s3(moves.shape, moves, order),
        "mdef": binary_mdef(order) if binary else text_mdef(),
        "feat.params": FEATURES.encode(),
    }
    return found | ({"sendump": sendump(mix, order)} if dump else {"mixture_weights": s3(mix.shape, mix, order)})
