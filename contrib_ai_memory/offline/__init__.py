"""What needs no language model: the offline provider and its answers.

Some rules and learned scores of this folder serve answers by a language model as well.
"""
