"""The observer: pose and twist of a robot from edges of its legs, as a camera sees them one by one.

    obs = Observer(robot, camera, Start(x, sigma_x=1e-3))
    obs.accelerate(t, a)            # what the control law gives from t on
    obs.take(edges)                 # late, out of order, by the camera's clock
    obs.estimate(now)               # pose, twist and their covariance

`sight` says what the camera sees at a pose and how that changes, `anchors` how it changes with the anchors on
the base, `process` how the robot moves between measurements, `update` what one measurement says, `observer`
puts late ones in their place.
"""
