"""Runners map a task over chunks and give the results back in the order of the chunks.

There is one way to be parallel: over chunks. Chunk boundaries depend on the data alone and results are added in their
order, so that one worker and eight give the same bits.
"""

from halfseen.runners.threads import runner

__all__ = ["runner"]
