// Request bodies of the REST bridge → commands that may go to the shared connection.

/** Name in upper case, then its arguments as Redis will see them. */
export type CommandLine = [name: string, ...args: string[]];

/** A request or command that is refused without asking Redis. `message` goes to the client and holds no argument. */
export class RequestError extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/**
 * What is refused, because all requests share one connection: it would change what that connection is or replies
 * (database, user, protocol, transaction, subscription), or hold it up, or never be answered.
 */
export const REFUSED_COMMANDS: ReadonlySet<string> = new Set([
  ...["AUTH", "HELLO", "SELECT", "CLIENT", "QUIT", "RESET", "ASKING", "READONLY", "READWRITE"],
  ...["MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH"],
  ...["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"],
  ...["MONITOR", "SYNC", "PSYNC", "REPLCONF", "SHUTDOWN"],
  ...[
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "BLMOVE",
    "BLMOVEM",
    "BLMPOP",
    "BZPOPMIN",
    "BZPOPMAX",
    "BZMPOP",
    "WAIT",
    "WAITAOF",
  ],
]);

/** The body of `POST /`: one JSON array. Throws RequestError if it is something else. */
export function parseCommand(body: string): CommandLine | RequestError {
  const parsed = parseJson(body);
  if (!Array.isArray(parsed)) throw new RequestError("ERR failed to parse command");
  if (parsed.length === 0) throw new RequestError("ERR empty command");
  return toCommand(parsed);
}

/**
 * The body of `POST /pipeline` and `POST /multi-exec`: an array of arrays. A refused command is a RequestError in its
 * place.
 */
export function parsePipeline(
  body: string,
  what: "pipeline" | "transaction" = "pipeline",
): (CommandLine | RequestError)[] {
  const parsed = parseJson(body);
  if (!Array.isArray(parsed) || !parsed.every(Array.isArray)) {
    throw new RequestError(`ERR failed to parse ${what} request`);
  }
  if (parsed.length === 0) throw new RequestError(`ERR empty ${what} request`);
  return parsed.map((command) =>
    command.length === 0 ? new RequestError(`ERR empty ${what} command`) : toCommand(command),
  );
}

function toCommand(parts: unknown[]): CommandLine | RequestError {
  const args: string[] = [];
  for (const [index, part] of parts.entries()) {
    if (typeof part === "string") args.push(part);
    else if (typeof part === "number" || typeof part === "boolean") args.push(String(part));
    else
      return new RequestError(`ERR expected strings, numbers or booleans, found something else at position ${index}`);
  }
  // Upper case: for Redis it is the same, and ioredis reshapes the replies of some commands it knows in lower case.
  const name = (args.shift() as string).toUpperCase();
  if (isRefused(name, args)) {
    // The name is echoed only here, where it is one of ours: an unknown one could hold anything.
    return new RequestError(`ERR ${name} is not available through the REST bridge: all requests share one connection`);
  }
  return [name, ...args];
}

function isRefused(name: string, args: string[]): boolean {
  if (REFUSED_COMMANDS.has(name)) return true;
  if (name === "SCRIPT") return args[0]?.toUpperCase() === "DEBUG";
  if (name !== "XREAD" && name !== "XREADGROUP") return false;
  // After STREAMS come keys, and a key may be called "block".
  const options = args.slice(
    0,
    args.findIndex((arg) => arg.toUpperCase() === "STREAMS"),
  );
  return options.some((arg) => arg.toUpperCase() === "BLOCK");
}

/** JSON.parse, except that an integer too large for a double stays what was written, as a string. */
function parseJson(body: string): unknown {
  try {
    // A reviver makes parsing several times slower, and 16 digits in a row are rare.
    return /\d{16}/.test(body) ? JSON.parse(body, keepLargeIntegers) : JSON.parse(body);
  } catch {
    // JSON.parse's own message quotes the body, which holds keys.
    throw new RequestError("ERR failed to parse command");
  }
}

function keepLargeIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/.test(source) ? source : value;
}
