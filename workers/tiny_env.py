"""A tiny environment with gymnasium's methods and no gymnasium: a corridor with a lamp somewhere in it.

    automem env check -- python3 workers/gymnasium_worker.py --env tiny_env:Corridor
"""
import random


class Discrete:
    def __init__(self, n):
        self.n = n


class Corridor:
    action_names = ["west", "east", "take", "wait"]
    instruction_prompt = "You are in a dark corridor. Find the lamp and take it: west, east, take, wait."
    length, limit = 7, 60

    def __init__(self, render_mode=None):
        self.action_space = Discrete(len(self.action_names))

    def reset(self, seed=None, options=None):
        self.random = random.Random(seed)
        self.at, self.lamp, self.steps = self.length // 2, self.random.randrange(self.length), 0
        return self.seen(), {}

    def step(self, action):
        print("prints of an environment do no harm")
        self.steps += 1
        taken = self.action_names[action] == "take" and self.at == self.lamp
        move = {"west": -1, "east": 1}.get(self.action_names[action], 0)
        self.at = min(max(self.at + move, 0), self.length - 1)
        if self.random.random() < 0.1 and not taken:  # a rat drags the lamp about
            self.lamp = self.random.randrange(self.length)
        over = not taken and self.steps >= self.limit
        return self.seen(), float(taken), taken, over, {"steps": self.steps, "progression": float(taken)}

    def seen(self):
        here = "The lamp is here." if self.at == self.lamp else "It is dark."
        return {"place": f"{self.at} steps from the west end", "light": here}
