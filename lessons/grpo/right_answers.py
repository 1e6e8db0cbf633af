"""Other correct ways to write the TODOs of lesson GRPO, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: group_relative_advantages

right("divide_in_one_expression", todo_1="""
      scored = (group_ids == group) & rewards.isfinite()
      values = rewards[scored]
      if len(values) > 1 and (values != values[0]).any():
          divisor = values.std(unbiased=ddof == 1) + eps if scale == "std" else 1.0
          advantages[scored] = (values - values.mean()) / divisor
      """)

right("number_of_different_rewards", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values.unique()) >= 2:
          centered = values - values.sum() / len(values)
          variance = centered.square().sum() / (len(values) - ddof)
          advantages[scored] = centered / (variance.sqrt() + eps) if scale == "std" else centered
      """)

right("range_is_zero", todo_1="""
      inside = group_ids == group
      scored = inside & ~rewards.isnan()
      values = rewards[scored]
      spread = values.max() - values.min() if values.numel() else torch.tensor(0.0)
      if spread != 0:
          centered = values - values.mean()
          advantages[scored] = centered if scale == "none" else centered / (torch.var(values, correction=ddof) ** 0.5 + eps)
      """)

right("python_floats", todo_1="""
      members = [i for i, (r, g) in enumerate(zip(rewards.tolist(), group_ids.tolist())) if g == int(group) and r == r]
      values = [float(rewards[i]) for i in members]
      if len(set(values)) > 1:
          mean = sum(values) / len(values)
          std = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - ddof))
          for i, value in zip(members, values):
              advantages[i] = value - mean if scale == "none" else (value - mean) / (std + eps)
      """)

right("scaled_leave_one_out", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values, count = rewards[scored], int(scored.sum())
      if count >= 2 and not torch.equal(values, values[:1].expand_as(values)):
          leave_one_out = values - (values.sum() - values) / (count - 1)
          centered = leave_one_out * (count - 1) / count
          advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
      """)

right("pairwise_differences", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      differences = values[:, None] - values[None, :]
      if differences.any():
          advantages[scored] = differences.mean(dim=1)
          if scale == "std":
              advantages[scored] /= ((differences ** 2).sum() / 2 / len(values) / (len(values) - ddof)).sqrt() + eps
      """)

right("float64_inside", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored].double()
      if scored.any() and values.min() < values.max():
          centered = values - values.mean()
          if scale == "std":
              centered = centered / (values.std(correction=ddof) + eps)
          advantages[scored] = centered.to(advantages.dtype)
      """)

right("var_mean", todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if scored.sum() > 0 and not bool((values == values[0]).all()):
          variance, mean = torch.var_mean(values, correction=ddof)
          advantages[scored] = (values - mean) / (variance.sqrt() + eps if scale == "std" else torch.ones_like(variance))
      """)

right("all_groups_at_once", function="""
      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], N > 0, no reward infinite")
          if scale not in ("std", "none") or ddof not in (0, 1) or not 0 <= eps < math.inf:
              raise ValueError("scale, ddof or eps out of range")
          rewards = rewards.detach().double()
          same = (group_ids[:, None] == group_ids[None, :]) & ~rewards.isnan()
          count = same.sum(dim=1)
          table = rewards.expand(len(rewards), -1)
          mean = torch.where(same, table, 0.0).sum(dim=1) / count.clamp(min=1)
          std = (torch.where(same, table - mean[:, None], 0.0).square().sum(dim=1) / (count - ddof).clamp(min=1)).sqrt()
          highest, lowest = (torch.where(same, table, -math.inf).amax(dim=1), torch.where(same, table, math.inf).amin(dim=1))
          result = (rewards - mean) / (std + eps) if scale == "std" else rewards - mean
          return torch.where((highest > lowest) & ~rewards.isnan(), result, 0.0)
      """)

right("nanmean_of_the_group", todo_1="""
      own = torch.where(group_ids == group, rewards, math.nan)
      scored = ~own.isnan()
      if len(own[scored].unique()) > 1:
          centered = own - own.nanmean()
          std = (centered.square().nansum() / (scored.sum() - ddof)).sqrt()
          advantages = torch.where(scored, centered / (std + eps) if scale == "std" else centered, advantages)
      """)

right("skips_groups_without_signal", todo_1="""
      scored = torch.logical_and(group_ids == group, ~torch.isnan(rewards)).nonzero(as_tuple=True)[0]
      values = rewards.index_select(0, scored)
      if values.numel() < 2 or values.aminmax().min == values.aminmax().max:
          continue
      divisor = torch.std(values, correction=ddof).add(eps) if scale == "std" else torch.ones(())
      advantages.index_copy_(0, scored, (values - values.mean()).div(divisor).to(advantages.dtype))
      """)

right("index_add", function="""
      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], N > 0, no reward infinite")
          if scale not in ("std", "none") or ddof not in (0, 1) or not 0 <= eps < math.inf:
              raise ValueError("scale, ddof or eps out of range")
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          groups, place = group_ids.unique(return_inverse=True)
          present = ~rewards.isnan()
          zeros = torch.zeros(len(groups), dtype=rewards.dtype)
          counts = zeros.index_add(0, place, present.to(rewards.dtype))
          values = rewards.nan_to_num(0.0)
          means = zeros.index_add(0, place, values) / counts.clamp(min=1)
          centered = torch.where(present, values - means[place], 0.0)
          std = (zeros.index_add(0, place, centered.square()) / (counts - ddof).clamp(min=1)).sqrt()
          highest = torch.full_like(zeros, -math.inf).scatter_reduce(0, place, rewards.nan_to_num(-math.inf), "amax")
          lowest = torch.full_like(zeros, math.inf).scatter_reduce(0, place, rewards.nan_to_num(math.inf), "amin")
          result = centered / (std[place] + eps) if scale == "std" else centered
          return torch.where((highest > lowest)[place], result, 0.0)
      """)

right("one_hot_matrix", function="""
      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], N > 0, no reward infinite")
          if scale not in ("std", "none") or ddof not in (0, 1) or not 0 <= eps < math.inf:
              raise ValueError("scale, ddof or eps out of range")
          rewards = rewards.detach().double()
          members = (group_ids.unique()[:, None] == group_ids) & ~rewards.isnan()
          matrix, values = members.double(), rewards.nan_to_num(0.0)
          counts = matrix.sum(dim=1)
          means = matrix @ values / counts.clamp(min=1.0)
          centered = values - matrix.T @ means
          std = (matrix @ centered.square() / (counts - ddof).clamp(min=1.0)).sqrt()
          lowest = values.expand(len(matrix), -1).masked_fill(~members, math.inf).amin(dim=1)
          highest = values.expand(len(matrix), -1).masked_fill(~members, -math.inf).amax(dim=1)
          divisors = std + eps if scale == "std" else torch.ones_like(std)
          weights = torch.where(highest > lowest, 1.0 / divisors, 0.0)
          return centered * (matrix.T @ weights)
      """)

right("dictionary_of_places", function="""
      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], N > 0, no reward infinite")
          if scale not in ("std", "none") or ddof not in (0, 1) or not 0 <= eps < math.inf:
              raise ValueError("scale, ddof or eps out of range")
          numbers, places = rewards.tolist(), {}
          for i, group in enumerate(group_ids.tolist()):
              if not math.isnan(numbers[i]):
                  places.setdefault(group, []).append(i)
          result = [0.0] * len(numbers)
          for members in places.values():
              own = [numbers[i] for i in members]
              if min(own) == max(own):
                  continue
              mean = sum(own) / len(own)
              std = (sum((number - mean) ** 2 for number in own) / (len(own) - ddof)) ** 0.5
              for i in members:
                  result[i] = (numbers[i] - mean) / (std + eps if scale == "std" else 1.0)
          return torch.tensor(result, dtype=rewards.dtype if rewards.is_floating_point() else torch.float32)
      """)

# TODO 2: k3_kl

right("policy_minus_reference", todo_2="""
      k1 = (token_logps - reference_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      token_kl = torch.expm1(-k1) + k1
      """)

right("where", todo_2="""
      log_ratios = torch.where(completion_mask, reference_token_logps.detach() - token_logps, 0.0)
      token_kl = log_ratios.expm1() - log_ratios
      """)

right("both_masked_first", todo_2="""
      with torch.no_grad():
          reference = reference_token_logps.masked_fill(~completion_mask, 0.0)
      policy = token_logps.masked_fill(completion_mask.logical_not(), 0.0)
      token_kl = torch.special.expm1(reference - policy) - (reference - policy)
      """)

right("float64_inside", todo_2="""
      log_ratios = (reference_token_logps.detach().double() - token_logps.double()).masked_fill(~completion_mask, 0.0)
      token_kl = (log_ratios.exp() - log_ratios - 1.0).to(token_logps.dtype) if token_logps.dtype == torch.float32 \
          else log_ratios.expm1() - log_ratios
      """)

right("valid_tokens_put_back", todo_2="""
      log_ratios = reference_token_logps.detach()[completion_mask] - token_logps[completion_mask]
      token_kl = torch.zeros_like(token_logps.detach()).masked_scatter(completion_mask, torch.expm1(log_ratios) - log_ratios)
      """)

right("index_put", todo_2="""
      places = completion_mask.nonzero(as_tuple=True)
      log_ratios = reference_token_logps[places].detach() - token_logps[places]
      token_kl = torch.zeros(token_logps.shape, dtype=token_logps.dtype).index_put(places, torch.expm1(log_ratios) - log_ratios)
      """)

right("hyperbolic_sine", todo_2="""
      log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
      half = log_ratios / 2
      token_kl = 2 * torch.exp(half) * torch.sinh(half) - log_ratios
      """)

right("loop_over_rows", todo_2="""
      rows = []
      for policy, reference, valid in zip(token_logps, reference_token_logps.detach(), completion_mask):
          x = torch.zeros_like(reference).masked_scatter(valid, reference[valid] - policy[valid])
          rows.append(torch.expm1(x) - x)
      token_kl = torch.stack(rows)
      """)

right("expm1_by_branches", todo_2="""
      x = torch.where(completion_mask, reference_token_logps.detach() - token_logps, 0.0)
      small = x.abs() < 0.01
      series = torch.where(small, x, 0.0)
      series = series ** 2 / 2 + series ** 3 / 6 + series ** 4 / 24
      token_kl = torch.where(small, series, torch.where(small, 1.0, x).expm1() - torch.where(small, 1.0, x))
      """)

right("reference_without_graph", todo_2="""
      frozen = reference_token_logps.clone().detach()
      difference = torch.where(completion_mask, token_logps, 0.0) - torch.where(completion_mask, frozen, 0.0)
      token_kl = torch.expm1(difference.neg()).add(difference)
      """)

# TODO 3: grpo_token_losses

right("maximum_of_the_negated", todo_3="""
      log_ratios = torch.where(completion_mask, new_token_logps - old_token_logps.detach(), 0.0)
      ratios = log_ratios.exp()
      clipped = torch.clamp(ratios, 1 - epsilon_low, 1 + epsilon_high)
      fixed = advantages.detach()
      token_losses = torch.where(completion_mask, torch.maximum(-ratios * fixed, -clipped * fixed) + beta * token_kl, 0.0)
      """)

right("case_by_case", todo_3="""
      ratios = torch.exp(torch.where(completion_mask, new_token_logps - old_token_logps.detach(), 0.0))
      fixed = advantages.detach().expand_as(ratios)
      stopped = ((fixed > 0) & (ratios > 1 + epsilon_high)) | ((fixed < 0) & (ratios < 1 - epsilon_low))
      bound = torch.where(fixed > 0, 1 + epsilon_high, 1 - epsilon_low)
      policy_losses = -torch.where(stopped, bound, ratios) * fixed
      token_losses = (policy_losses + beta * token_kl).masked_fill(~completion_mask, 0)
      """)

right("one_sided_by_sign", todo_3="""
      new, old = (logps.masked_fill(~completion_mask, 0.0) for logps in (new_token_logps, old_token_logps.detach()))
      ratios = torch.exp(new - old)
      fixed = advantages.detach()
      held = torch.where(fixed > 0, ratios.clamp(max=1 + epsilon_high), ratios.clamp(min=1 - epsilon_low))
      token_losses = torch.where(completion_mask, beta * token_kl - held * fixed, torch.zeros_like(held))
      """)

right("loop_over_tokens", todo_3="""
      rows = []
      for n in range(len(new_token_logps)):
          row = []
          for t in range(new_token_logps.shape[1]):
              if not completion_mask[n, t]:
                  row.append(torch.zeros((), dtype=new_token_logps.dtype))
                  continue
              ratio = torch.exp(new_token_logps[n, t] - old_token_logps[n, t].detach())
              advantage = float(advantages[n, t if advantages.shape[1] > 1 else 0])
              surrogate = min(ratio * advantage, ratio.clamp(1 - epsilon_low, 1 + epsilon_high) * advantage)
              row.append(-surrogate + beta * token_kl[n, t])
          rows.append(torch.stack(row))
      token_losses = torch.stack(rows)
      """)

right("valid_tokens_put_back", todo_3="""
      ratios = torch.exp(new_token_logps[completion_mask] - old_token_logps[completion_mask].detach())
      fixed = advantages.detach().expand_as(completion_mask)[completion_mask]
      surrogates = torch.stack([ratios * fixed, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * fixed])
      values = -surrogates.min(dim=0).values + beta * token_kl[completion_mask]
      token_losses = torch.zeros_like(new_token_logps.detach()).masked_scatter(completion_mask, values)
      """)

right("excess_taken_off", todo_3="""
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      fixed = advantages.detach()
      above, below = (ratios - 1 - epsilon_high).relu(), (1 - epsilon_low - ratios).relu()
      policy_losses = -(ratios * fixed - fixed.clamp(min=0) * above + fixed.clamp(max=0) * below)
      token_losses = policy_losses.masked_fill(~completion_mask, 0.0) + beta * token_kl.masked_fill(~completion_mask, 0.0)
      """)

right("float64_inside", todo_3="""
      ratios = torch.exp((new_token_logps.double() - old_token_logps.detach().double()).masked_fill(~completion_mask, 0.0))
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().double()
      policy_losses = -torch.minimum(ratios * fixed, clipped * fixed)
      token_losses = (policy_losses + beta * token_kl.double()).masked_fill(~completion_mask, 0.0)
      """)

right("expm1_around_one", todo_3="""
      change = torch.expm1((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      fixed = advantages.detach()
      gains = torch.minimum(change * fixed, change.clamp(-epsilon_low, epsilon_high) * fixed)
      token_losses = (beta * token_kl - fixed - gains).masked_fill(~completion_mask, 0.0)
      """)

right("tensors_as_bounds", todo_3="""
      ratios = torch.exp(torch.where(completion_mask, new_token_logps - old_token_logps.detach(), 0.0))
      lowest, highest = torch.tensor(1 - epsilon_low, dtype=ratios.dtype), torch.tensor(1 + epsilon_high, dtype=ratios.dtype)
      clipped = torch.clamp(ratios, lowest, highest)
      fixed = advantages.detach()
      policy_losses = torch.max(-fixed * ratios, -fixed * clipped)
      token_losses = torch.where(completion_mask, policy_losses + beta * token_kl, 0.0)
      """)

right("where_on_signs", todo_3="""
      ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0).exp()
      fixed = advantages.detach()
      limits = torch.where(fixed >= 0, 1.0 + epsilon_high, 1.0 - epsilon_low).to(ratios.dtype).expand_as(ratios)
      beyond = torch.where(fixed >= 0, ratios > limits, ratios < limits)
      surrogates = torch.where(beyond, limits, ratios) * fixed
      token_losses = (beta * token_kl - surrogates).masked_fill(~completion_mask, 0.0)
      """)

right("loop_over_rows", todo_3="""
      rows = []
      for n, valid in enumerate(completion_mask):
          ratios = torch.exp(new_token_logps[n][valid] - old_token_logps[n][valid].detach())
          own = advantages[n].detach().expand(len(valid))[valid]
          surrogates = torch.minimum(ratios * own, ratios.clip(1 - epsilon_low, 1 + epsilon_high) * own)
          losses = token_kl[n][valid] * beta - surrogates
          rows.append(torch.zeros(len(valid), dtype=losses.dtype).masked_scatter(valid, losses))
      token_losses = torch.stack(rows)
      """)

right("bounds_by_minimum_and_maximum", todo_3="""
      padding = completion_mask.logical_not()
      log_ratios = new_token_logps.masked_fill(padding, 0.0) - old_token_logps.detach().masked_fill(padding, 0.0)
      ratios, fixed = log_ratios.exp(), advantages.detach().expand_as(log_ratios).masked_fill(padding, 0.0)
      bounded = ratios.clamp_max(1.0 + epsilon_high).clamp_min(1.0 - epsilon_low)
      token_losses = beta * token_kl.masked_fill(padding, 0.0) - torch.stack((ratios * fixed, bounded * fixed)).amin(dim=0)
      token_losses = token_losses.where(completion_mask, torch.zeros_like(token_losses))
      """)

# TODO 4: reduce_token_losses

right("four_branches", todo_4="""
      sums = token_losses.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      lengths = completion_mask.sum(dim=-1)
      if reduction == "sequence_mean":
          loss = (sums / lengths.clamp(min=1)).mean()
      elif reduction == "token_mean":
          loss = sums.sum() / lengths.sum().clamp(min=1)
      elif reduction == "sequence_sum":
          loss = sums.mean()
      else:
          loss = sums.mean() / max_length
      """)

right("weight_of_each_token", todo_4="""
      number, mask = len(token_losses), completion_mask.to(token_losses.dtype)
      weights = {
          "sequence_mean": mask / mask.sum(dim=-1, keepdim=True).clamp(min=1) / number,
          "token_mean": mask / mask.sum().clamp(min=1),
          "sequence_sum": mask / number,
          "constant": mask / (number * (max_length or 1)),
      }[reduction]
      loss = (torch.where(completion_mask, token_losses, 0.0) * weights).sum()
      """)

right("loop_over_completions", todo_4="""
      terms = []
      for losses, valid in zip(token_losses, completion_mask):
          total, length = losses[valid].sum(), int(valid.sum())
          if reduction == "sequence_mean":
              total = total / max(length, 1)
          elif reduction == "constant":
              total = total / max_length
          terms.append(total)
      loss = torch.stack(terms).sum() / (max(int(completion_mask.sum()), 1) if reduction == "token_mean" else len(terms))
      """)

right("valid_losses_in_one_row", todo_4="""
      valid, number = token_losses[completion_mask], len(token_losses)
      own_length = completion_mask.sum(dim=1, keepdim=True).expand_as(completion_mask)[completion_mask]
      if reduction == "sequence_mean":
          loss = (valid / own_length).sum() / number
      elif reduction == "token_mean":
          loss = valid.sum() / max(valid.numel(), 1)
      else:
          loss = valid.sum() / (number if reduction == "sequence_sum" else number * max_length)
      """)

right("masked_means", todo_4="""
      losses = torch.where(completion_mask, token_losses, 0.0)
      if reduction == "token_mean":
          loss = losses[completion_mask].mean() if completion_mask.any() else losses.sum()
      elif reduction == "sequence_mean":
          loss = torch.stack([row[valid].mean() if valid.any() else row.sum() for row, valid in zip(losses, completion_mask)]).mean()
      else:
          loss = losses.sum(dim=1).mean()
          loss = loss / max_length if reduction == "constant" else loss
      """)

right("float64_inside", todo_4="""
      sums = token_losses.double().masked_fill(~completion_mask, 0.0).sum(dim=-1)
      lengths = completion_mask.sum(dim=-1).double()
      number = float(len(sums))
      divisors = {"sequence_mean": lengths.clamp(min=1) * number, "token_mean": lengths.sum().clamp(min=1),
                  "sequence_sum": number, "constant": number * (max_length or 1)}
      loss = (sums / divisors[reduction]).sum().to(token_losses.dtype)
      """)

right("where_for_empty_completions", todo_4="""
      sums = token_losses.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      lengths = completion_mask.sum(dim=-1)
      if reduction == "sequence_mean":
          sums = torch.where(lengths > 0, sums / lengths, 0.0)
      loss = sums.mean() if reduction != "token_mean" else sums.sum() / max(int(lengths.sum()), 1)
      if reduction == "constant":
          loss = loss / max_length
      """)

right("nanmean_and_nansum", todo_4="""
      losses = torch.where(completion_mask, token_losses, math.nan)
      if reduction == "token_mean":
          loss = losses.nansum() / completion_mask.sum().clamp(min=1)
      elif reduction == "sequence_mean":
          lengths = completion_mask.sum(dim=1)
          loss = (losses.nansum(dim=1) / lengths.clamp(min=1)).sum() / len(lengths)
      else:
          loss = losses.nansum() / len(losses) / (max_length if reduction == "constant" else 1)
      """)

right("index_add_over_valid_tokens", todo_4="""
      rows, columns = completion_mask.nonzero(as_tuple=True)
      valid, zeros = token_losses[rows, columns], torch.zeros(len(token_losses), dtype=token_losses.dtype)
      sums = zeros.index_add(0, rows, valid)
      counts = zeros.index_add(0, rows, torch.ones_like(valid)).clamp(min=1)
      loss = {"sequence_mean": (sums / counts).mean(), "token_mean": sums.sum() / max(len(rows), 1),
              "sequence_sum": sums.mean(), "constant": sums.mean() / (max_length or 1)}[reduction]
      """)

right("scaled_before_the_sum", todo_4="""
      scale = torch.ones(len(token_losses), 1, dtype=token_losses.dtype) / len(token_losses)
      if reduction == "sequence_mean":
          scale = scale / completion_mask.sum(dim=1, keepdim=True).clamp(min=1)
      elif reduction == "token_mean":
          scale = torch.ones_like(scale) / completion_mask.sum().clamp(min=1)
      elif reduction == "constant":
          scale = scale / max_length
      loss = (token_losses * scale).masked_fill(~completion_mask, 0.0).sum()
      """)

right("small_eps_for_empty_completions", todo_4="""
      sums = torch.where(completion_mask, token_losses, torch.zeros_like(token_losses)).sum(1)
      lengths = completion_mask.sum(1).to(sums.dtype)
      if reduction == "token_mean":
          loss = sums.sum() / torch.clamp(lengths.sum(), min=1.0)
      else:
          divisor = lengths.clamp(min=1e-8) if reduction == "sequence_mean" else float(max_length) if reduction == "constant" else 1.0
          loss = torch.mean(sums / divisor)
      """)

right("padding_cut_row_by_row", todo_4="""
      rows = [losses[valid] for losses, valid in zip(token_losses, completion_mask)]
      if reduction == "token_mean":
          loss = torch.cat(rows).sum() / max(sum(map(len, rows)), 1)
      else:
          loss = sum(row.sum() / (max(len(row), 1) if reduction == "sequence_mean" else 1) for row in rows) / len(rows)
          if reduction == "constant":
              loss = loss / max_length
      """)
