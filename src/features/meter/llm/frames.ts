/**
 * `application/vnd.amazon.eventstream`, in which Bedrock streams: frames of the total length, the length of the header
 * section (4 bytes each, big endian), a checksum of these, the header section, the payload, and a checksum of all that.
 * docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html describes it.
 */

/** Bytes before the header section of a frame, and behind its payload. */
export const PRELUDE = 12;
export const CHECKSUM = 4;
/** The type of a value that is a string. */
const STRING = 7;

/** One frame. @param headers strings of at most 255 characters of ASCII. */
export function frameOf(headers: Readonly<Record<string, string>>, payload: string): Uint8Array<ArrayBuffer> {
  const utf8 = new TextEncoder();
  const fields = Object.entries(headers).flatMap(([name, value]) => [
    ...[name.length, ...utf8.encode(name)],
    ...[STRING, 0, value.length, ...utf8.encode(value)],
  ]);
  const body = utf8.encode(payload);
  const frame = new Uint8Array(PRELUDE + fields.length + body.length + CHECKSUM);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length);
  view.setUint32(4, fields.length);
  view.setUint32(8, crc32(frame.subarray(0, 8)));
  frame.set(fields, PRELUDE);
  frame.set(body, PRELUDE + fields.length);
  view.setUint32(frame.length - CHECKSUM, crc32(frame.subarray(0, -CHECKSUM)));
  return frame;
}

/** That of ISO 3309, which zlib has too. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
