"""What to do with a model, and how to see it at work: decisions under costs, the bound that EM climbs, EM by numbers.

Nothing here fits anything. Posteriors, statistics and steps come from the engine that training uses.
"""
