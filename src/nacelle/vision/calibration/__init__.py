"""Where a camera is, from images of the robot at poses that are known: least squares over edges of the legs.

    calibration = calibrated(robot, sightings, camera)     # camera: the first guess, with its lens
    calibration.camera, calibration.sigma, calibration.weak

`observations` says what an edge gives for a camera, `bundle` puts all of them into one system, `excitation`
says what they do not determine, `search` finds a first guess.
"""
