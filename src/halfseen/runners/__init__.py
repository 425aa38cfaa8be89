"""Runners map a task over chunks and yield the results in the order of the chunks.

Parallel work is over chunks only. Chunk boundaries depend on the data alone and results are added in their
order, so that one worker and eight give the same bits.
"""

from halfseen.runners.threads import reading_jobs, runner

__all__ = ["reading_jobs", "runner"]
