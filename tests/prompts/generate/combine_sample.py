"""Metadata small enough to know every combination that they allow."""

from __future__ import annotations

from vmmetrics.prompts.entry import Action, Metadata, Place, SubjectClass, SubjectEntry

CLASSES = (
    SubjectClass("fish", ("animate", "swims"), "animal"),
    SubjectClass("waterbird", ("animate", "flies", "swims", "walks"), "animal"),
    SubjectClass("horse", ("animate", "walks"), "animal"),
    SubjectClass("athlete", ("animate", "human", "walks", "hands"), "person"),
    SubjectClass("train or tram", ("rigid", "articulated", "wheeled", "powered")),
    SubjectClass("car", ("rigid", "articulated", "wheeled", "powered")),
    SubjectClass("boat or ship", ("rigid", "powered")),
    SubjectClass("poured liquid", ("liquid",)),
    SubjectClass("cloud", ("gas",)),
    SubjectClass("flock", ("animate", "collective", "flies"), "animal"),
)
SUBJECTS = (
    SubjectEntry("trout", "fish", ("speckled",), plural="trout"),
    SubjectEntry("gull", "waterbird", ("white", "flying")),
    SubjectEntry("penguin", "waterbird", ("small",), lacks=("flies",)),
    SubjectEntry("pony", "horse", ("brown", "sleeping")),
    SubjectEntry("hurdler", "athlete", ("tall",)),
    SubjectEntry("fencer", "athlete", ("masked",)),
    SubjectEntry("tram", "train or tram", ("yellow",)),
    SubjectEntry("hatchback", "car", ("blue",)),
    SubjectEntry("ferry", "boat or ship", ("white",)),
    SubjectEntry("milk", "poured liquid", ("cold",), plural="-"),
    SubjectEntry("thundercloud", "cloud", ("dark",)),
    SubjectEntry("murmuration", "flock", ("dense",)),
)
PLACES = (
    Place("kitchen", "in a kitchen", "indoor", ("kitchen", "table", "floor", "home")),
    Place("river", "in a clear river", "outdoor", ("water", "underwater", "shore")),
    Place("coral reef", "on a coral reef", "outdoor", ("underwater",)),
    Place("city street", "on a city street", "outdoor", ("road", "street", "rails", "ground")),
    Place("country road", "on a country road", "outdoor", ("road", "ground", "grass")),
    Place("stadium", "in a stadium", "outdoor", ("track", "grass", "ground", "open sky", "air")),
    Place("sports hall", "in a sports hall", "indoor", ("floor", "walls")),
    Place("harbour", "in a harbour", "outdoor", ("water", "shore", "open sky", "air")),
)
BIOLOGICAL, MECHANICAL, TOGETHER = "biological motion", "mechanical motion", "collective behaviour"
ACTIONS = (
    Action("turn", "against the current and holds its place", BIOLOGICAL, ("fish",), outcome="the trout hangs still"),
    Action("soar", "in a wide circle", BIOLOGICAL, ("waterbird",), ("air", "open sky"), amplitude="large"),
    Action("waddle", "over the wet ground", BIOLOGICAL, ("waterbird",), ("shore", "ground")),
    Action("trot", "in a tight circle", BIOLOGICAL, ("horse",), ("ground", "grass"), speed="fast"),
    Action("clear", "three hurdles in a row", BIOLOGICAL, ("athlete",), ("track",), "object", "fast"),
    Action("stretch", "one leg after the other", BIOLOGICAL, ("athlete",), seconds=8.0),
    Action("brake", "to a stop before a crossing", MECHANICAL, ("train or tram", "car"), ("rails", "road")),
    Action("turn", "slowly on the spot", MECHANICAL, ("boat or ship",), ("water",)),
    Action("pour", "from a jug into a glass", "fluid dynamics", ("poured liquid",), ("table",), "object",
           outcome="the glass is full"),
    Action("drift", "from one side to the other", "weather phenomena", ("cloud",), amplitude="large"),
    Action("land", "on a long wire one after another", TOGETHER, ("flock", "waterbird")),
    Action("preen", "its feathers", TOGETHER, ("waterbird",)),
)  # fmt: skip


def metadata() -> Metadata:
    return Metadata(CLASSES, SUBJECTS, PLACES, ACTIONS)
