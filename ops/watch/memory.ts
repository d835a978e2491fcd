/**
 * Says at the start when a container's memory limit is below what a node needs: the kernel would end it
 * without a word. Node reads the limit of both versions of control groups, and makes its heap by it.
 */

/** An idle node on the embedded stores, and room for some hundred clients. */
const neededMiB = 256;

export const findMemoryNotes = (limitBytes: number = process.constrainedMemory()): readonly string[] => {
  const limitMiB = Math.floor(limitBytes / 2 ** 20);
  // 0: unknown. Without a limit it is a huge number.
  if (limitBytes === 0 || limitMiB >= neededMiB) return [];
  return [
    `The memory is limited to ${limitMiB} MiB here, and a node needs ${neededMiB} MiB for each process: ` +
      'the kernel may end it without a word. Raise the limit of the container (MemoryMax of systemd).',
  ];
};
