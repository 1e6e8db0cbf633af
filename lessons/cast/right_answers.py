"""Other correct ways to write the TODOs of lesson CAST, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: cast_base_advantages

right("from_the_whole_batch", todo_1="""
      scored = (group_ids == group) & rewards.isfinite()
      base_advantages[scored] = group_relative_advantages(rewards, group_ids)[scored]
      if not (rewards[scored] == 0).any():
          base_advantages[scored] = delta_pos
      if not (rewards[scored] == 1).any():
          base_advantages[scored] = -delta_neg
      """)

right("number_of_correct_ones", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      correct = int(values.sum())
      if 0 < correct < len(values):
          base_advantages[scored] = group_relative_advantages(values, torch.zeros(len(values), dtype=torch.int64))
      elif correct:
          base_advantages[scored] = delta_pos
      else:
          base_advantages[scored] = -delta_neg
      """)

right("largest_equals_smallest", todo_1="""
      inside = group_ids == group
      scored = inside & ~rewards.isnan()
      values = rewards[scored]
      if values.numel() and values.max() == values.min():
          base_advantages[scored] = delta_pos if values[0] == 1 else -delta_neg
      elif values.numel():
          base_advantages[scored] = group_relative_advantages(values, group_ids[inside][:1].expand(len(values)))
      """)

right("own_formula_in_float64", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored].double()
      if len(set(values.tolist())) == 2:
          centered = values - values.mean()
          base_advantages[scored] = (centered / (centered.square().mean().sqrt() + 1e-6)).to(base_advantages.dtype)
      else:
          base_advantages[scored] = torch.where(values == 1, delta_pos, -delta_neg).to(base_advantages.dtype)
      """)

right("python_floats", todo_1="""
      members = [i for i, (r, g) in enumerate(zip(rewards.tolist(), group_ids.tolist())) if g == int(group) and r == r]
      values = [float(rewards[i]) for i in members]
      share = sum(values) / max(len(values), 1)
      for i, value in zip(members, values):
          if share == 1:
              base_advantages[i] = delta_pos
          elif share == 0:
              base_advantages[i] = -delta_neg
          else:
              base_advantages[i] = (value - share) / (math.sqrt(share * (1 - share)) + 1e-6)
      """)

right("std_is_exactly_zero", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values) == 0:
          continue
      if values.std(correction=0) == 0:
          base_advantages[scored] = delta_pos * values - delta_neg * (1 - values)
      else:
          base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
      """)

right("indices", todo_1="""
      members = ((group_ids == group) & ~rewards.isnan()).nonzero().squeeze(-1)
      values = rewards[members]
      right, wrong = bool((values > 0.5).any()), bool((values < 0.5).any())
      advantages = group_relative_advantages(values, group_ids[members]) if len(members) else values
      if right != wrong:
          advantages = torch.full_like(values, delta_pos if right else -delta_neg)
      base_advantages[members] = advantages
      """)

right("from_the_share_of_correct_ones", todo_1="""
      inside = (group_ids == group) & ~rewards.isnan()
      correct, number = int((rewards[inside] == 1).sum()), int(inside.sum())
      if number:
          share = correct / number
          std = math.sqrt(share * (1 - share))
          high = delta_pos if correct == number else (1 - share) / (std + 1e-6)
          low = -delta_neg if correct == 0 else -share / (std + 1e-6)
          base_advantages[inside] = torch.where(rewards[inside] == 1, high, low).to(base_advantages.dtype)
      """)

# TODO 2: self_teacher_gap

right("where", todo_2="""
      gaps = teacher_token_logps.detach() - old_token_logps.detach()
      gaps = torch.where(completion_mask & (gaps.abs() > dead_band), gaps, torch.zeros_like(gaps))
      """)

right("fill_first", todo_2="""
      teacher = teacher_token_logps.detach().masked_fill(~completion_mask, 0.0)
      old = old_token_logps.detach().masked_fill(~completion_mask, 0.0)
      gaps = teacher - old
      gaps = gaps * (gaps.abs() > dead_band)
      """)

right("write_into_zeros", todo_2="""
      gaps = torch.zeros_like(old_token_logps.detach())
      valid = (teacher_token_logps - old_token_logps).detach()[completion_mask]
      gaps[completion_mask] = valid.masked_fill((valid <= dead_band) & (valid >= -dead_band), 0.0)
      """)

right("no_grad", todo_2="""
      with torch.no_grad():
          gaps = (teacher_token_logps - old_token_logps).masked_fill(~completion_mask, 0.0)
          gaps[gaps.abs() <= dead_band] = 0.0
      """)

right("token_by_token", todo_2="""
      gaps = torch.zeros_like(old_token_logps.detach())
      for i in range(len(gaps)):
          for t in range(gaps.shape[1]):
              if completion_mask[i, t]:
                  gap = float(teacher_token_logps[i, t]) - float(old_token_logps[i, t])
                  gaps[i, t] = gap if abs(gap) > dead_band else 0.0
      """)

right("float64_inside", todo_2="""
      differences = teacher_token_logps.detach().double() - old_token_logps.detach().double()
      small = (differences.abs() <= dead_band) | ~completion_mask
      gaps = differences.masked_fill(small, 0.0).to(old_token_logps.dtype)
      """)

right("nan_to_num_then_mask", todo_2="""
      differences = torch.nan_to_num(teacher_token_logps.detach() - old_token_logps.detach(), nan=0.0, posinf=0.0, neginf=0.0)
      gaps = differences * completion_mask * (differences.abs() > dead_band)
      """)

# TODO 3: asymmetric_weights

right("clip_the_logarithm", todo_3="""
      exponents = gaps.detach() if z == "printed" else gaps.detach() * base.detach().sign()
      low = torch.where(base > 0, positive_bounds[0], negative_bounds[0]).to(exponents.dtype)
      high = torch.where(base > 0, positive_bounds[1], negative_bounds[1]).to(exponents.dtype)
      weights = torch.exp(exponents.clamp(low.log(), high.log()))
      """)

right("exponent_within_20", todo_3="""
      signs = torch.sign(base) if z == "sign" else torch.ones_like(base)
      z_values = torch.exp((signs * gaps).clamp(-20.0, 20.0)).detach()
      positive = z_values.clamp(min=positive_bounds[0], max=positive_bounds[1])
      negative = z_values.clamp(min=negative_bounds[0], max=negative_bounds[1])
      weights = torch.where(base > 0, positive, negative)
      """)

right("row_by_row", todo_3="""
      weights = torch.ones_like(gaps.detach())
      for i, own in enumerate(base_advantages.detach().tolist()):
          low, high = positive_bounds if own > 0 else negative_bounds
          sign = 1.0 if z == "printed" or own > 0 else -1.0
          weights[i] = torch.exp(sign * gaps[i].detach()).clamp(low, high)
      """)

right("python_floats", todo_3="""
      rows = []
      for own, row in zip(base_advantages.tolist(), gaps.tolist()):
          low, high = positive_bounds if own > 0 else negative_bounds
          sign = (own > 0) - (own < 0) if z == "sign" else 1
          rows.append([min(max(math.exp(min(sign * gap, 30.0)), low), high) for gap in row])
      weights = torch.tensor(rows, dtype=gaps.dtype)
      """)

right("reciprocal_for_negative_rows", todo_3="""
      with torch.no_grad():
          z_values = gaps.exp()
          if z == "sign":
              z_values = torch.where(base < 0, 1.0 / z_values, z_values)
              z_values = torch.where(base == 0, torch.ones_like(z_values), z_values)
          weights = torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds))
      """)

right("minimum_and_maximum", todo_3="""
      positive = (base > 0).to(gaps.dtype)
      low = positive * positive_bounds[0] + (1 - positive) * negative_bounds[0]
      high = positive * positive_bounds[1] + (1 - positive) * negative_bounds[1]
      exponents = torch.where((base < 0) & torch.tensor(z == "sign"), -gaps, gaps)
      weights = torch.minimum(torch.maximum(torch.exp(exponents), low), high).detach()
      """)

right("power_of_the_sign", todo_3="""
      z_values = gaps.exp()
      if z == "sign":
          z_values = z_values ** base.sign()
      weights = torch.where(base > 0, z_values.clip(*positive_bounds), z_values.clip(*negative_bounds)).detach()
      """)

# TODO 4: cast_token_advantages

right("line_by_line", todo_4="""
      token_advantages = torch.zeros_like(gaps.detach())
      for i, own in enumerate(base_advantages.tolist()):
          for t, gap in enumerate(gaps[i].tolist()):
              if flip_down and own > 0 and gap < 0:
                  weight = min(max(math.exp(min(-gap, 50.0)), max(1.0, negative_bounds[0])), negative_bounds[1])
                  raw = -abs(own) * (1 + lam * (weight - 1))
              elif flip_up and own < 0 and gap > 0:
                  weight = min(max(math.exp(min(gap, 50.0)), max(1.0, positive_bounds[0])), positive_bounds[1])
                  raw = abs(own) * (1 + lam * (weight - 1))
              else:
                  raw = own * (1 + lam * (float(weights[i, t]) - 1))
              token_advantages[i, t] = min(max(raw, -limit), limit)
      """)

right("exp_of_the_size", todo_4="""
      with torch.no_grad():
          down = (base > 0) & (gaps < 0) & flip_down
          up = (base < 0) & (gaps > 0) & flip_up
          ratios = gaps.abs().clamp(max=40.0).exp()
          factors = torch.where(down, ratios.clamp(*negative_bounds), torch.where(up, ratios.clamp(*positive_bounds), weights))
          signed = torch.where(down | up, -base, base)
          token_advantages = (signed * torch.lerp(torch.ones_like(factors), factors, lam)).clamp(min=-limit, max=limit)
      """)

right("masked_assignment", todo_4="""
      base, gaps, weights = base.detach().expand_as(gaps), gaps.detach(), weights.detach()
      raw = base * (1 - lam + lam * weights)
      if flip_down:
          down = (base > 0) & (gaps < 0)
          ratios = torch.exp(-gaps[down]).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
          raw[down] = -base[down] * (1 - lam + lam * ratios)
      if flip_up:
          up = (base < 0) & (gaps > 0)
          ratios = torch.exp(gaps[up]).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
          raw[up] = -base[up] * (1 - lam + lam * ratios)
      token_advantages = torch.clamp(raw, -limit, limit)
      """)

right("sign_and_size", todo_4="""
      flipped = ((base > 0) & (gaps < 0) & flip_down) | ((base < 0) & (gaps > 0) & flip_up)
      signs = torch.where(flipped, -base.sign(), base.sign())
      low = torch.where(signs > 0, max(1.0, positive_bounds[0]), max(1.0, negative_bounds[0])).to(gaps.dtype)
      high = torch.where(signs > 0, positive_bounds[1], negative_bounds[1]).to(gaps.dtype)
      own_weights = torch.where(flipped, torch.minimum(torch.maximum(gaps.abs().exp(), low), high), weights)
      sizes = base.abs() * (1.0 + lam * (own_weights - 1.0))
      token_advantages = (signs * sizes.clamp(max=limit)).detach()
      """)

right("float64_inside", todo_4="""
      base64, gaps64 = base.detach().double(), gaps.detach().double()
      kept = base64 * (1.0 + lam * (weights.detach().double() - 1.0))
      down = -base64.abs() * (1.0 + lam * (torch.exp(-gaps64).clamp(max(1.0, negative_bounds[0]), negative_bounds[1]) - 1.0))
      up = base64.abs() * (1.0 + lam * (torch.exp(gaps64).clamp(max(1.0, positive_bounds[0]), positive_bounds[1]) - 1.0))
      raw = kept
      if flip_down:
          raw = torch.where((base64 > 0) & (gaps64 < 0), down, raw)
      if flip_up:
          raw = torch.where((base64 < 0) & (gaps64 > 0), up, raw)
      token_advantages = raw.clamp(-limit, limit).to(gaps.dtype)
      """)

right("blend_with_lam", todo_4="""
      down_weights = torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
      up_weights = torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
      full = base * weights
      plain = base.expand_as(gaps)
      if flip_down:
          chosen = torch.logical_and(base > 0, gaps < 0)
          full, plain = torch.where(chosen, -base * down_weights, full), torch.where(chosen, -base, plain)
      if flip_up:
          chosen = torch.logical_and(base < 0, gaps > 0)
          full, plain = torch.where(chosen, -base * up_weights, full), torch.where(chosen, -base, plain)
      token_advantages = ((1 - lam) * plain + lam * full).detach().clamp(-limit, limit)
      """)

# TODO 5: cast_loss

right("positional", todo_5="""
      loss = reduce_token_losses(
          grpo_token_losses(new_token_logps, old_token_logps, token_advantages, completion_mask, None, 0.0, epsilon_low, epsilon_high),
          completion_mask, reduction)
      """)

right("own_clip", todo_5="""
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      advantages = token_advantages.detach().masked_fill(~completion_mask, 0.0)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      token_losses = torch.maximum(-ratios * advantages, -clipped * advantages)
      loss = reduce_token_losses(token_losses, completion_mask, reduction)
      """)

right("side_by_the_tokens_sign", todo_5="""
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      advantages = token_advantages.detach().masked_fill(~completion_mask, 0.0)
      held = torch.where(advantages > 0, ratios.clamp(max=1 + epsilon_high), ratios.clamp(min=1 - epsilon_low))
      loss = reduce_token_losses(-held * advantages, completion_mask, reduction)
      """)

right("own_reductions", todo_5="""
      token_losses = grpo_token_losses(new_token_logps, old_token_logps.detach(), token_advantages.detach(), completion_mask,
                                       epsilon_low=epsilon_low, epsilon_high=epsilon_high)
      lengths = completion_mask.sum(dim=1).clamp(min=1)
      if reduction == "token_mean":
          loss = token_losses.sum() / completion_mask.sum().clamp(min=1)
      elif reduction == "sequence_mean":
          loss = (token_losses.sum(dim=1) / lengths).mean()
      else:
          loss = token_losses.sum(dim=1).mean()
      """)

right("valid_tokens_only", todo_5="""
      new, old = new_token_logps[completion_mask], old_token_logps.detach()[completion_mask]
      advantages, ratios = token_advantages.detach()[completion_mask], (new - old).exp()
      losses = torch.zeros_like(new_token_logps).masked_scatter(
          completion_mask, -torch.min(ratios * advantages, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * advantages))
      loss = reduce_token_losses(losses, completion_mask, reduction)
      """)

right("completion_by_completion", todo_5="""
      rows = []
      for new, old, advantages, mask in zip(new_token_logps, old_token_logps, token_advantages, completion_mask):
          rows.append(grpo_token_losses(new[None], old[None], advantages[None], mask[None],
                                        epsilon_low=epsilon_low, epsilon_high=epsilon_high))
      loss = reduce_token_losses(torch.cat(rows), completion_mask, reduction=reduction)
      """)

right("good_and_bad_parts", todo_5="""
      ratios = torch.where(completion_mask, new_token_logps - old_token_logps.detach(), torch.zeros_like(new_token_logps)).exp()
      advantages = torch.where(completion_mask, token_advantages.detach(), torch.zeros_like(new_token_logps))
      good, bad = advantages.clamp(min=0), advantages.clamp(max=0)
      losses = -(ratios.clamp(max=1 + epsilon_high) * good + ratios.clamp(min=1 - epsilon_low) * bad)
      lengths = completion_mask.sum(dim=1)
      loss = {"token_mean": losses.sum() / lengths.sum().clamp(min=1),
              "sequence_mean": (losses.sum(dim=1) / lengths.clamp(min=1)).mean(),
              "sequence_sum": losses.sum() / len(losses)}[reduction]
      """)
