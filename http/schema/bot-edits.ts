/**
 * Request bodies of bots (contract §4.2): add a bot, change its settings, transfer it to a team.
 *
 * Lengths count Unicode code points. A schema cannot check that an address parses; `checkBotAddresses` does.
 */
import { type Static, Type } from 'typebox';
import { plainText, platformId, platformIdOrEmpty } from '../request/patterns.ts';
import { BotId, Flag, TargetId, toNullable, UserId } from './common.ts';
import { buildObject, describe } from './example.ts';
import {
  buildLine,
  buildProse,
  buildTags,
  checkAddresses,
  HttpsAddress,
  LinksInput,
  toLinkPointers,
} from './fields.ts';

export const BotEditParams = Type.Object({ id: BotId });
export const TransferParams = Type.Object({ uid: UserId, bid: BotId });

const fields = {
  extra_links: LinksInput,
  invite: describe(HttpsAddress, 'An https address that adds the bot to a server, up to 512 characters.'),
  library: describe(
    buildLine(1, 50, 'discord.js'),
    'The library that the bot is written with, 1 to 50 characters.',
  ),
  long: describe(
    buildProse(500, 65_536, 'Keeps watch over your server. '.repeat(20).trim()),
    'Long description, 500 to 65,536 characters, stored as sent.',
  ),
  prefix: describe(buildLine(1, 10, '!'), 'What commands begin with, 1 to 10 characters.'),
  short: describe(
    buildProse(30, 150, 'Keeps watch over your server, day and night.'),
    'Short description, 30 to 150 characters.',
  ),
  nsfw: describe(Flag, 'Whether the bot is for adults only.'),
  tags: buildTags(1),
};
export const BotBody = buildObject(
  {
    ...fields,
    bot_id: Type.String({
      pattern: platformId,
      description: 'Id of the bot on the platform: 15 to 20 digits.',
      examples: ['815553000470478850'],
    }),
    client_id: Type.Optional(
      Type.String({
        pattern: platformIdOrEmpty,
        description: "Id of the bot's application; equal to `bot_id` if absent or empty.",
        examples: ['815553000470478850'],
      }),
    ),
    extra_links: Type.Optional(fields.extra_links),
    nsfw: Type.Optional(fields.nsfw),
    staff_note: Type.Optional(
      describe(
        toNullable(buildProse(0, 512, 'The invite requests no permissions.')),
        'A note for the reviewers, up to 512 characters. It is never shown.',
      ),
    ),
    team_owner: Type.Optional(
      Type.String({
        maxLength: 128,
        pattern: plainText,
        description: 'Id of the team that will own the bot; the caller owns it if absent or empty.',
        examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'],
      }),
    ),
  },
  { tags: ['moderation'] },
);
export type BotBody = Static<typeof BotBody>;

export const BotSettingsBody = buildObject(
  {
    captcha_opt_out: Type.Optional(describe(Flag, 'Whether voters should be spared captchas.')),
    extra_links: Type.Optional(fields.extra_links),
    invite: Type.Optional(fields.invite),
    library: Type.Optional(fields.library),
    long: Type.Optional(fields.long),
    nsfw: Type.Optional(fields.nsfw),
    prefix: Type.Optional(fields.prefix),
    short: Type.Optional(fields.short),
    tags: Type.Optional(fields.tags),
  },
  { prefix: '?', tags: ['moderation', 'logging'] },
);
export type BotSettingsBody = Static<typeof BotSettingsBody>;

export const TransferBody = buildObject(
  { team_id: describe(TargetId, 'Id of the team that receives the bot.') },
  { team_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10' },
);
export type TransferBody = Static<typeof TransferBody>;

/** Throws `validation_failed`, which names the fields that are not https addresses. */
export const checkBotAddresses = (body: Pick<BotSettingsBody, 'invite' | 'extra_links'>): void =>
  checkAddresses({
    ...(body.invite === undefined ? {} : { '/invite': body.invite }),
    ...toLinkPointers(body.extra_links),
  });
