"""What to do with a model, and how to see it at work.

Decisions under costs, the bound that EM climbs, EM by numbers, and how sure the parameters are. Nothing here fits
anything: posteriors, statistics and steps come from the engine that training uses.
"""
