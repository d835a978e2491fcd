/**
 * Seals the secrets of webhook endpoints: a request must be signed, so they cannot be stored as hashes.
 *
 * AES-256-GCM under one key per directory, with the endpoint's id as additional data, so that a sealed secret
 * is worthless in another row. Secrets are never listed, logged or exported.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** Takes a key of 32 bytes. */
export const createSecretBox = (key: Buffer) => ({
  seal: (secret: string, endpointId: string) => {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(endpointId));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), text]);
  },
  /** Unseals a secret; `null` when it was sealed under another key, or for another endpoint. */
  unseal: (sealed: Uint8Array, endpointId: string) => {
    try {
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(endpointId))
        .setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
      const text = decipher.update(sealed.subarray(ivBytes + tagBytes));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch (error) {
      if (error instanceof Error) return null;
      throw error;
    }
  },
});
export type SecretBox = ReturnType<typeof createSecretBox>;
