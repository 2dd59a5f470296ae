from nacelle.vision.camera import Camera as Camera, Shutter as Shutter
from nacelle.vision.image.pixel_model import PixelModel as PixelModel
from nacelle.vision.observation import Observation as Observation, observe as observe
from nacelle.vision.observer.observer import Observer as Observer
from nacelle.vision.observer.settings import ObserverSettings as ObserverSettings
from nacelle.vision.placing import camera_for as camera_for
