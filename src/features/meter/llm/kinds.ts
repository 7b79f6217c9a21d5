/** The bytes and the parts of an answer, as the scanner knows them. A file without imports: compilers inline them. */

// Bytes of event streams and of JSON.
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const U = 0x75;
export const OPEN = 0x7b;

/**
 * What an object, a list or the value of a member is. Of other objects nothing is read, whatever they hold: users and
 * models write names there.
 */
export const UNKNOWN = 0;
export const IN_TEXT = 1;
/** A string counts; what an object or a list of it holds is `IN_TEXT`. */
export const TEXT = 2;
export const ROOT = 3;
/** An object that holds usage, like the root. Ollama's is a string, which counts. */
export const RESPONSE = 4;
/** The one in `message_start` tells the input, and an output that is only the first tokens. */
export const MESSAGE = 5;
export const USAGE = 6;
export const DETAILS = 7;
/** A list of answers: Gemini streams one if it is not asked for events. */
export const ROOTS = 8;
/** What holds text as `IN_TEXT` does, and usage of its own. */
export const CHOICES = 9;
export const CHOICE = 10;
/** The items of an output: text, and calls of the provider's tools. */
export const ITEMS = 11;
export const ITEM = 12;
/** One that a stream has begun, and those of a whole output that ends a stream: their text has been streamed. */
export const STEP = 13;
export const REPEATED = 14;
export const REPEATS = 15;
/** `x_groq`, which holds usage and nothing else that counts. */
export const HOLDER = 16;
/** The parts of a usage, each of one model: those of the model that has answered are its sum. */
export const ITERATIONS = 17;
export const ITERATION = 18;
/** Cohere's `tokens`, for what its `billed_units` do not state. */
export const SPARE = 19;
/** Numbers of calls, by names of the form `<tool>_requests`. */
export const TOOL_USE = 20;
/** Bedrock's `serviceTier`, whose `type` is one. */
export const TIERED = 21;
/** Bedrock's `cacheDetails`: what was written to a cache, and for how long. */
export const WRITES = 22;
export const WRITE = 23;
/** The type of an event, of which the hash is enough: each event has one. */
export const EVENT = 24;
/**
 * Strings that are kept: the model that has answered, the service tier, the type of an item, a time, how fast the model
 * works, and the model of a part.
 */
export const MODEL = 25;
export const TIER = 26;
export const TYPE = 27;
export const TTL = 28;
export const SPEED = 29;
export const PART_MODEL = 30;
/** A number of calls. From here on, values are numbers. */
export const CALLS = 31;
/** The first of the numbers of a usage, in the order of `FIELDS`. */
export const FIELD = 32;

/** What an object is by what is wanted there. What is not named is unknown. */
export const OBJECTS: readonly (readonly [want: number, kind: number])[] = [
  [IN_TEXT, IN_TEXT],
  [TEXT, IN_TEXT],
  [ROOT, ROOT],
  [RESPONSE, RESPONSE],
  [MESSAGE, MESSAGE],
  [USAGE, USAGE],
  [DETAILS, DETAILS],
  [CHOICES, CHOICE],
  [CHOICE, CHOICE],
  [ITEMS, ITEM],
  [STEP, STEP],
  [REPEATS, REPEATED],
  [HOLDER, HOLDER],
  [ITERATIONS, ITERATION],
  [SPARE, SPARE],
  [TOOL_USE, TOOL_USE],
  [TIERED, TIERED],
  [WRITES, WRITE],
];
/** The same of a list. */
export const LISTS: typeof OBJECTS = [
  [IN_TEXT, IN_TEXT],
  [TEXT, IN_TEXT],
  [ROOT, ROOTS],
  [CHOICES, CHOICES],
  [ITEMS, ITEMS],
  [REPEATS, REPEATS],
  [ITERATIONS, ITERATIONS],
  [WRITES, WRITES],
];
/** A string that counts as text: also a delta that is no object, and Ollama's response. */
export const COUNTED_STRINGS: readonly number[] = [TEXT, CHOICE, RESPONSE];
/** What is wanted in an object or a list, but for members that have names of their own. */
export const INSIDE: typeof OBJECTS = [
  [IN_TEXT, IN_TEXT],
  [CHOICE, IN_TEXT],
  [ITEM, IN_TEXT],
  [ROOTS, ROOT],
  [CHOICES, CHOICES],
  [ITEMS, ITEMS],
  [REPEATS, REPEATS],
  [ITERATIONS, ITERATIONS],
  [WRITES, WRITES],
];

/** Deeper objects and lists are only counted. Arguments of a tool call stand at depth 7. */
export const MAX_DEPTH = 16;

/** Where the scanner is. Up to 4: how many bytes of `data:` the line begins with. */
export const OTHER_FIELD = -1;
export const LINE_START = 0;
export const OUTSIDE = 5;
/** In a string: skipped, the name of a member (an item of a list, the type of an event), text to count, or kept. */
export const SKIPPED = 6;
export const NAME = 7;
export const COUNTED = 8;
export const KEPT = 9;

/** Instead of a hash: the value of the member follows. */
export const AFTER_COLON = -1;
