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
export const RESPONSE = 4;
/** The one in `message_start` tells the input, and an output that is only the first tokens. */
export const MESSAGE = 5;
export const USAGE = 6;
export const DETAILS = 7;
/** The name of the model that has answered. */
export const MODEL = 8;
/** A list of answers: Gemini streams one if it is not asked for events. */
export const ROOTS = 9;
/** The first of the numbers of a usage, in the order of `FIELD_NAMES`. */
export const FIELD = 10;

/** Deeper objects and lists are only counted. Arguments of a tool call stand at depth 7. */
export const MAX_DEPTH = 16;

/** Where the scanner is. Up to 4: how many bytes of `data:` the line begins with. */
export const OTHER_FIELD = -1;
export const LINE_START = 0;
export const OUTSIDE = 5;
/** In a string: skipped, the name of a member (or an item of a list, never used), text to count, or kept. */
export const SKIPPED = 6;
export const NAME = 7;
export const COUNTED = 8;
export const KEPT = 9;

/** Instead of a hash: the value of the member follows. */
export const AFTER_COLON = -1;
