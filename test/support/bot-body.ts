/**
 * What a bot needs to be added, but for its id and its owner: texts just long enough for the schema.
 */
export const botBody = {
  invite: 'https://example.org/invite',
  library: 'any',
  long: 'Long words. '.repeat(50),
  prefix: '!',
  short: 'Keeps watch over your server, day and night.',
  tags: ['moderation'],
} as const;
