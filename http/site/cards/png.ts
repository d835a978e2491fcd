/**
 * Pixels as a PNG file (W3C, Portable Network Graphics), compressed in a thread of Node's pool: the encoder
 * of the add-on that draws the cards would hold the event loop for up to 50 ms.
 */
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const compress = promisify(deflate);

const buildChunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
};

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and alpha of each pixel. */
  readonly pixels: Buffer;
}

export const encodePng = async ({ width, height, pixels }: Pixels): Promise<Buffer> => {
  const rowBytes = width * 4;
  // Each row begins with the number of its filter: none.
  const rows = Buffer.allocUnsafe((rowBytes + 1) * height);
  for (let row = 0; row < height; row++) {
    rows[row * (rowBytes + 1)] = 0;
    pixels.copy(rows, row * (rowBytes + 1) + 1, row * rowBytes, (row + 1) * rowBytes);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6], 8);
  const data = await compress(rows);
  const chunks = [buildChunk('IHDR', header), buildChunk('IDAT', data), buildChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
};
