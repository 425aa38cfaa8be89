"""What a fitted model is worth: questions asked of an estimator after its fit, such as how sure its parameters are."""
