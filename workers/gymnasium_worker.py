#!/usr/bin/env python3
"""A worker for AutoMem that plays any gymnasium environment with discrete actions; copy it and change what you need.

    automem env check -- python3 gymnasium_worker.py --env-id FrozenLake-v1
    automem watch --env "worker:python3 gymnasium_worker.py --env my_module:MyEnv --prompt rules.txt"

It needs nothing but Python, and gymnasium where an environment is named by its id. An environment may have
`action_names` and `instruction_prompt`; `info["progression"]` (0 to 1) is its score. Observations may be text, numbers,
dictionaries, or BALROG's `{"text": {"long_term_context": ..., "short_term_context": ...}}`.
"""
import argparse, base64, importlib, json, math, os, pathlib, re, sys, traceback

MOST_SIDE = 512  # pixels of a picture's side; larger ones are thinned out


def open_env(args):
    mode = {"render_mode": "rgb_array"} if args.picture else {}
    if args.env_id:
        import gymnasium
        return gymnasium.make(args.env_id, **mode)
    sys.path.insert(0, os.getcwd())
    module, _, name = args.env.partition(":")
    return getattr(importlib.import_module(module), name)(**mode)


def greeting(env, args):
    inner = getattr(env, "unwrapped", env)
    names = args.actions.split(",") if args.actions else getattr(inner, "action_names", None)
    if names is None and hasattr(inner, "get_action_meanings"):
        names = inner.get_action_meanings()
    names = [str(name) for name in names or range(int(env.action_space.n))]
    task = args.env_id or args.env
    rules = pathlib.Path(args.prompt).read_text("utf-8") if args.prompt else getattr(inner, "instruction_prompt", None)
    world = {
        "name": args.name or re.sub(r"[^A-Za-z0-9_.-]", "-", task),
        "engine": "gymnasium", "engine_version": sys.modules["gymnasium"].__version__ if args.env_id else "api",
        "task": task, "actions": names,
        "instruction_prompt": rules or f"You are playing {task}. Your actions are: {', '.join(names)}.",
    }
    limit = args.step_limit or getattr(getattr(env, "spec", None), "max_episode_steps", None)
    return {**world, "step_limit": int(limit)} if limit else world


def texts(seen):
    """What is worth remembering, and what is true for the moment."""
    if isinstance(seen, dict) and isinstance(seen.get("text"), dict):
        return str(seen["text"].get("long_term_context", "")), str(seen["text"].get("short_term_context", ""))
    if isinstance(seen, dict):
        return "\n".join(f"{key}: {value}" for key, value in seen.items()), ""
    return str(seen), ""


def frame(env, args, seen, reward=0.0, terminated=False, truncated=False, info=None):
    long, short = texts(seen)
    plain = {str(key): value for key, value in (info or {}).items()
             if isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value)}
    shown = {"long": long, "short": short, "reward": float(reward), "terminated": bool(terminated),
             "truncated": bool(truncated), "progression": float(plain.get("progression", 0.0)), "info": plain}
    picture = env.render() if args.picture else None
    if getattr(picture, "ndim", 0) == 3:  # an array: rows, columns, and red, green, blue
        thin = -(-max(picture.shape[:2]) // MOST_SIDE)
        picture = picture[::thin, ::thin, :3].astype("uint8")
        shown["view"] = {"kind": "picture", "width": picture.shape[1], "height": picture.shape[0],
                         "rgb": base64.b64encode(picture.tobytes()).decode()}
    return {"frame": shown}


def error(kind, message):
    return {"error": {"kind": kind, "message": str(message)}}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = options.add_mutually_exclusive_group(required=True)
    which.add_argument("--env", metavar="MODULE:CLASS", help="a class with gymnasium's methods")
    which.add_argument("--env-id", metavar="ID", help="a registered environment")
    options.add_argument("--actions", metavar="A,B,C", help="names of the actions, in order")
    options.add_argument("--prompt", metavar="FILE", help="the rules, as the model is told them")
    options.add_argument("--name", help="what the world is called")
    options.add_argument("--step-limit", type=int)
    options.add_argument("--picture", action="store_true", help="show what the environment draws")
    args = options.parse_args()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)  # what the environment prints goes to standard error: replies stand alone
    env = open_env(args)
    world, playing = greeting(env, args), False
    for line in sys.stdin.buffer:
        try:
            request = json.loads(line)
            verb = request["do"]
            given = request[{"hello": "protocol", "reset": "seed", "step": "action", "close": "do"}[verb]]
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            verb, reply = None, error("protocol", f"no request: {problem!r}")
        try:
            if verb == "close":
                break
            if verb == "hello" and given != 1:
                reply = error("protocol", f"this worker speaks version 1 of the protocol, not {given}")
            elif verb == "hello":
                reply = {"protocol": 1, "world": world}
            elif verb == "reset":
                seen, info = env.reset(seed=int(given))
                reply, playing = frame(env, args, seen, info=info), True
            elif verb == "step" and not playing:
                reply = error("not_reset", "reset first")
            elif verb == "step" and given not in world["actions"]:
                reply = error("unknown_action", f"there is no action {given}")
            elif verb == "step":
                seen, reward, terminated, truncated, info = env.step(world["actions"].index(given))
                reply = frame(env, args, seen, reward, terminated, truncated, info)
                playing = not (terminated or truncated)
        except Exception as problem:
            traceback.print_exc()
            reply, playing = error("engine", f"{type(problem).__name__}: {problem}"), False
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
