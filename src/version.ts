/** The version in package.json. A test compares the two; importing package.json would bundle the whole file. */
export const VERSION = "0.1.0";
