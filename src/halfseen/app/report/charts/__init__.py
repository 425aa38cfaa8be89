"""Charts of the report as inline SVG, without matplotlib: quick to draw, small, and in the page's own colours.

`svg`      scales, ticks, elements and the frame of axes
`lines`    lines with markers: criteria, objective
`bars`     bars cut into grades of certainty
`scatter`  rows as points, classes as ellipses
`strips`   probabilities of states along time
`sound`    waveform and spectrogram with words and units
`png`      images of grey levels

Charts are as wide as a phone and enlarged on wider screens, so that their text can be read on both.
"""
