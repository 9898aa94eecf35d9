// Frames of the binary stream that Bedrock sends: application/vnd.amazon.eventstream.

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

function header(name: string, value: string): Buffer {
  const stringType = 7;
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([stringType, value.length >> 8, value.length & 0xff]),
    Buffer.from(value),
  ]);
}

/** Makes one frame. The kind is `event`, or `exception` for an error in the stream. */
export function awsFrame(type: string, body: object, kind: "event" | "exception" = "event"): Buffer {
  const headers = Buffer.concat([
    header(":message-type", kind),
    header(`:${kind}-type`, type),
    header(":content-type", "application/json"),
  ]);
  const payload = Buffer.from(JSON.stringify(body));
  const lengths = uint32(16 + headers.length + payload.length, headers.length);
  const checked = Buffer.concat([lengths, uint32(crc32(lengths)), headers, payload]);
  return Buffer.concat([checked, uint32(crc32(checked))]);
}
