r"""Other correct ways to write the TODOs of lesson OM-GRPO, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: answer_span_mask

right("from_the_right", todo_1=r'''
first = last = 0
opening = text.rfind("\\boxed{")
while opening >= 0:
    closing = closing_brace(text, opening + 7)
    if closing is not None:
        first, last = opening + 7, closing
        break
    opening = text.rfind("\\boxed{", 0, opening)
mask = torch.zeros(len(offsets), dtype=torch.bool)
for t, (start, end) in enumerate(offsets):
    mask[t] = start < end and first < last and start < last and first < end
''')

right("vectorized", todo_1=r'''
first = last = 0
for piece in range(7, len(text)):
    if text[piece - 7:piece] == "\\boxed{" and closing_brace(text, piece) is not None:
        first, last = piece, closing_brace(text, piece)
pairs = torch.tensor(offsets, dtype=torch.long).reshape(-1, 2)
mask = pairs[:, 0].clamp(min=first) < pairs[:, 1].clamp(max=last)
''')

right("character_by_character", todo_1=r'''
inside = [False] * len(text)
for begin in range(len(text)):
    if text.startswith("\\boxed{", begin) and closing_brace(text, begin + 7) is not None:
        inside = [begin + 7 <= position < closing_brace(text, begin + 7) for position in range(len(text))]
mask = torch.tensor([any(inside[start:end]) for start, end in offsets], dtype=torch.bool)
''')

right("split_at_boxes", todo_1=r'''
import re

first = last = 0
for match in re.finditer(r"\\boxed\{", text):
    closing = closing_brace(text, match.end())
    first, last = (first, last) if closing is None else (match.end(), closing)
mask = torch.tensor([len(set(range(start, end)) & set(range(first, last))) > 0 for start, end in offsets], dtype=torch.bool)
''')

# TODO 2: majority_vote_rewards

right("counter", todo_2="""
from collections import Counter

votes = [answers[i] for i in members if answers[i] is not None]
ranking = Counter(votes).most_common()
for i in members:
    rewards[i] = float(bool(ranking) and answers[i] == ranking[0][0])
    tied[i] = len(ranking) > 1 and ranking[0][1] == ranking[1][1]
""")

right("dict_of_counts", todo_2="""
counts = {}
for i in members:
    if answers[i] is not None:
        counts[answers[i]] = counts.get(answers[i], 0) + 1
highest = max(counts.values(), default=0)
leaders = [answer for answer, count in counts.items() if count == highest]
for i in members:
    if leaders and answers[i] == leaders[0]:
        rewards[i] = 1
    if len(leaders) > 1:
        tied[i] = True
""")

right("matrix_of_agreement", todo_2="""
same = torch.tensor([[answers[i] is not None and answers[i] == answers[j] for j in members] for i in members])
counts = same.sum(dim=1)
if counts.any():
    leading = counts == counts.max()
    first = int(leading.nonzero()[0])
    rewards[members] = same[first].float()
    tied[members] = bool((leading & ~same[first]).any())
""")

right("sorted_by_count_and_place", todo_2="""
votes = [answers[i] for i in members if answers[i] is not None]
candidates = sorted(set(votes), key=lambda vote: (-votes.count(vote), votes.index(vote)))
for i in members:
    rewards[i] = 1.0 if candidates and answers[i] == candidates[0] else 0.0
    tied[i] = len(candidates) > 1 and votes.count(candidates[0]) == votes.count(candidates[1])
""")

right("one_pass_with_continue", todo_2="""
votes = [answers[i] for i in members if answers[i] is not None]
if not votes:
    continue
counts = torch.tensor([votes.count(vote) for vote in votes])
winner = votes[counts.tolist().index(int(counts.max()))]
leaders = {vote for vote, count in zip(votes, counts.tolist()) if count == counts.max()}
rewards[members] = torch.tensor([1.0 if answers[i] == winner else 0.0 for i in members])
tied[members] = len(leaders) != 1
""")

# TODO 3: soft_consensus_rewards

right("agreement_loops", todo_3="""
valid = [i for i in members if answers[i] is not None]
counts = {i: sum(answers[j] == answers[i] for j in valid) for i in valid}
for i in valid:
    rewards[i] = counts[i] / (max(counts.values()) if normalizer == "max" else len(members)) + int(format_reward)
""")

right("counter_without_none", todo_3="""
from collections import Counter

counts = Counter(answers[i] for i in members)
counts.pop(None, None)
divisor = max(counts.values(), default=1) if normalizer == "max" else len(members)
for i in members:
    rewards[i] = counts[answers[i]] / divisor + (format_reward and answers[i] is not None)
""")

right("tensor_of_counts", todo_3="""
own = [answers[i] for i in members]
counts = torch.tensor([float(own.count(answer)) if answer is not None else 0.0 for answer in own])
divisor = counts.max().clamp(min=1.0) if normalizer == "max" else float(len(own))
rewards[members] = counts / divisor + (counts > 0) * float(format_reward)
""")

right("kinds_numbered", todo_3="""
kinds = {answer: number for number, answer in enumerate(dict.fromkeys(answers[i] for i in members if answers[i] is not None))}
if kinds:
    numbers = torch.tensor([kinds.get(answers[i], -1) for i in members])
    frequency = torch.bincount(numbers[numbers >= 0]).float()
    frequency = frequency / (frequency.max() if normalizer == "max" else len(members))
    for i, number in zip(members, numbers.tolist()):
        if number >= 0:
            rewards[i] = frequency[number] + float(format_reward)
""")

right("continue_without_votes", todo_3="""
votes = [answers[i] for i in members if answers[i] is not None]
if not votes:
    continue
highest = votes.count(max(votes, key=votes.count))
size = {"max": highest, "group": len(members)}[normalizer]
for i in members:
    if answers[i]:
        rewards[i] = votes.count(answers[i]) / size
        if format_reward:
            rewards[i] += 1
""")

# TODO 4: contrast_augmented_rewards

right("selected_by_group_id", todo_4="""
pool = [answers[i] for i in members]
pool += [answer for i, j, answer in comparisons if int(group_ids[j]) == group]
valid = [i for i in members if answers[i] is not None]
highest = max([pool.count(answers[i]) for i in valid], default=1)
for i in valid:
    rewards[i] = pool.count(answers[i]) / (highest if normalizer == "max" else len(pool)) + float(format_reward)
""")

right("pool_counter", todo_4="""
from collections import Counter

pool = Counter(answers[i] for i in members)
pool.update(answer for i, j, answer in comparisons if i in members and j in members)
own = {answers[i] for i in members} - {None}
divisor = max((pool[answer] for answer in own), default=1) if normalizer == "max" else sum(pool.values())
for i in members:
    if answers[i] in own:
        rewards[i] = pool[answers[i]] / divisor + (1.0 if format_reward else 0.0)
""")

right("votes_added_up", todo_4="""
size = len(members)
counts = {i: 0 for i in members if answers[i] is not None}
for i in counts:
    counts[i] = sum(answers[j] == answers[i] for j in members)
for i, _, answer in comparisons:
    if i in members:
        size += 1
        for k in counts:
            counts[k] += answers[k] == answer
for i, count in counts.items():
    rewards[i] = count / (max(counts.values()) if normalizer == "max" else size)
    rewards[i] += 1 if format_reward else 0
""")

right("pool_matrix", todo_4="""
own = [answers[i] for i in members]
pool = own + [comparison[2] for comparison in comparisons if comparison[0] in members]
same = torch.tensor([[mine is not None and mine == other for other in pool] for mine in own])
counts = same.sum(dim=1).float()
divisor = counts.max().clamp(min=1) if normalizer == "max" else same.shape[1]
rewards[members] = torch.where(counts > 0, counts / divisor + float(format_reward), 0.0)
""")

right("comparisons_first", todo_4="""
pool = [answer for i, _, answer in reversed(comparisons) if group_ids[i] == group]
pool.extend(answers[i] for i in members)
for i in members:
    if answers[i] is None:
        continue
    divisor = len(pool)
    if normalizer == "max":
        divisor = max(pool.count(answers[k]) for k in members if answers[k] is not None)
    rewards[i] = sum(answer == answers[i] for answer in pool) / divisor + (1 if format_reward else 0)
""")

# TODO 5: om_grpo_loss

right("written_out", todo_5="""
loss_mask = completion_mask & ~answer_mask
kl_mask = loss_mask if mask_kl else completion_mask
ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~loss_mask, 0.0))
fixed = advantages.detach().unsqueeze(-1)
losses = torch.maximum(-ratios * fixed, -ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * fixed)
gaps = torch.where(kl_mask, reference_token_logps.detach() - new_token_logps, 0.0)
kl = torch.where(kl_mask, torch.expm1(gaps) - gaps, 0.0)
losses = torch.where(loss_mask, losses, 0.0)


def reduce(values, mask):
    sums, lengths = values.sum(dim=1), mask.sum(dim=1)
    if reduction == "token_mean":
        return sums.sum() / max(int(lengths.sum()), 1)
    return (sums / lengths.clamp(min=1)).mean() if reduction == "sequence_mean" else sums.mean()


loss = reduce(losses, loss_mask) + beta * reduce(kl, kl_mask)
""")

right("advantages_per_token", todo_5="""
loss_mask = completion_mask.logical_and(answer_mask.logical_not())
token_advantages = advantages[:, None].expand_as(completion_mask).masked_fill(answer_mask, 0.0)
policy = reduce_token_losses(
    grpo_token_losses(new_token_logps, old_token_logps, token_advantages, loss_mask, None, 0.0, epsilon_low, epsilon_high),
    loss_mask, reduction)
if mask_kl:
    kl = reduce_token_losses(k3_kl(new_token_logps, reference_token_logps, loss_mask), loss_mask, reduction)
else:
    kl = reduce_token_losses(k3_kl(new_token_logps, reference_token_logps, completion_mask), completion_mask, reduction)
loss = policy + beta * kl
""")

right("one_sum_when_the_masks_agree", todo_5="""
loss_mask = completion_mask * ~answer_mask
if mask_kl:
    token_kl = k3_kl(new_token_logps, reference_token_logps, loss_mask)
    losses = grpo_token_losses(
        new_token_logps, old_token_logps, advantages, loss_mask, token_kl, beta, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    loss = reduce_token_losses(losses, loss_mask, reduction)
else:
    losses = grpo_token_losses(
        new_token_logps, old_token_logps, advantages, loss_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    token_kl = beta * k3_kl(new_token_logps, reference_token_logps, completion_mask)
    loss = reduce_token_losses(losses, loss_mask, reduction) + reduce_token_losses(token_kl, completion_mask, reduction)
""")

right("completion_by_completion", todo_5="""
sums, kl_sums, lengths, kl_lengths = [], [], [], []
for i in range(len(advantages)):
    kept = completion_mask[i] & ~answer_mask[i]
    paying = kept if mask_kl else completion_mask[i]
    ratios = (new_token_logps[i][kept] - old_token_logps[i][kept].detach()).exp()
    advantage = advantages[i].detach()
    sums.append(-torch.min(ratios * advantage, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * advantage).sum())
    gaps = reference_token_logps[i][paying].detach() - new_token_logps[i][paying]
    kl_sums.append((gaps.expm1() - gaps).sum())
    lengths.append(int(kept.sum()))
    kl_lengths.append(int(paying.sum()))
n = len(sums)
if reduction == "token_mean":
    loss = sum(sums) / max(sum(lengths), 1) + beta * sum(kl_sums) / max(sum(kl_lengths), 1)
elif reduction == "sequence_mean":
    loss = sum(s / max(l, 1) for s, l in zip(sums, lengths)) / n + beta * sum(s / max(l, 1) for s, l in zip(kl_sums, kl_lengths)) / n
else:
    loss = sum(sums) / n + beta * sum(kl_sums) / n
""")

right("mask_by_clone", todo_5="""
loss_mask = completion_mask.clone()
loss_mask[answer_mask] = False
masks = {True: loss_mask, False: completion_mask}
losses = grpo_token_losses(new_token_logps, old_token_logps, advantages, loss_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
loss = reduce_token_losses(losses, loss_mask, reduction)
if beta != 0:
    kl = k3_kl(new_token_logps, reference_token_logps, masks[bool(mask_kl)])
    loss = loss + beta * reduce_token_losses(kl, masks[bool(mask_kl)], reduction)
""")
