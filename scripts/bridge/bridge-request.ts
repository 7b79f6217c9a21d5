// Turns request bodies of the REST bridge into commands for the shared connection.

/** The command's name in upper case, then its arguments as Redis gets them. */
export type CommandLine = [name: string, ...args: string[]];

/** Refuses a request or command without asking Redis. `message` is for the client and holds no argument of it. */
export class RequestError extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/**
 * Commands that are refused because all requests share one connection. They would change the connection or its replies
 * (database, user, protocol, transaction, subscription), block it, or never get a reply.
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

/** Reads the body of `POST /`: one JSON array. Throws a RequestError for any other body. */
export function parseCommand(body: string): CommandLine | RequestError {
  const parsed = parseJson(body);
  if (!Array.isArray(parsed)) throw new RequestError("ERR failed to parse command");
  if (parsed.length === 0) throw new RequestError("ERR empty command");
  return toCommand(parsed);
}

/**
 * Reads the body of `POST /pipeline` or `POST /multi-exec`: an array of arrays. A refused command becomes a
 * RequestError at its position.
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
  // Redis ignores the case. ioredis changes the replies of some commands whose names are in lower case.
  const name = (args.shift() as string).toUpperCase();
  if (isRefused(name, args)) {
    // The message repeats the name because the list above has it. An unknown name could hold anything.
    return new RequestError(`ERR ${name} is not available through the REST bridge: all requests share one connection`);
  }
  return [name, ...args];
}

function isRefused(name: string, args: string[]): boolean {
  if (REFUSED_COMMANDS.has(name)) return true;
  if (name === "SCRIPT") return args[0]?.toUpperCase() === "DEBUG";
  if (name !== "XREAD" && name !== "XREADGROUP") return false;
  // Keys follow STREAMS, and a key may be named "block".
  const options = args.slice(
    0,
    args.findIndex((arg) => arg.toUpperCase() === "STREAMS"),
  );
  return options.some((arg) => arg.toUpperCase() === "BLOCK");
}

/** JSON.parse, except that an integer too large for a double becomes a string with the same digits. */
function parseJson(body: string): unknown {
  try {
    // The reviver makes parsing several times slower, and 16 digits in a row are rare.
    return /\d{16}/.test(body) ? JSON.parse(body, keepLargeIntegers) : JSON.parse(body);
  } catch {
    // The message of JSON.parse would quote the body, which holds keys.
    throw new RequestError("ERR failed to parse command");
  }
}

function keepLargeIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/.test(source) ? source : value;
}
