/** The version in package.json. A test compares the two; importing package.json would bundle the whole file. */
export const VERSION = "1.0.0-rc.1";
