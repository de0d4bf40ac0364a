// The products: what each kernel is given, and queuing it.
#pragma once

#include "choice.hpp"
#include "fetched.hpp"
#include "kernels/reals.cu.hpp"

STRATAGEMM_BEGIN

// The operands of a product of sums, and the targets of a product into several: what is fused with the product of the
// first terms into the first target.
template <class In, class Out>
struct cuda_fusion {
    struct sum {
        cuda_view<In const> term[cuda_most_terms];
        int terms = 1;
    };
    sum a, b;
    typename spread<cuda_view<Out>, cuda_most_targets>::target target[cuda_most_targets];
    int targets = 1;
};

// The product of the first terms into the first target, and all terms and targets in `fusion`. What the only term or
// target is multiplied by goes into alpha.
template <class Problem>
auto cuda_plain(Problem const& p, cuda_fusion<typename Problem::a_type, typename Problem::c_type>& fusion) {
    using In = typename Problem::a_type;
    using Out = typename Problem::c_type;
    dense_problem<In, In, Out, cuda_memory, typename Problem::epilogue_type> q;
    q.alpha = p.alpha, q.beta = p.beta, q.e = p.e, q.epilogue = p.epilogue;
    q.row0 = p.row0, q.col0 = p.col0;
    auto const first_of = [&](auto const& operand, auto& sum) -> cuda_view<In const> {
        if constexpr (is_view<std::remove_cvref_t<decltype(operand)>>::value) {
            return operand;
        } else {
            cuda_view<In const> first = operand.term[0];
            sum.terms = operand.terms;
            for (int t = 0; t < sum.terms; ++t) sum.term[t] = operand.term[t];
            if (sum.terms == 1)
                q.alpha = q.alpha * first.scale;
            else
                first.conjugate = false; // kernels find it in the copy
            first.scale = decltype(first.scale)(1);
            return first;
        }
    };
    q.a = first_of(p.a, fusion.a), q.b = first_of(p.b, fusion.b);
    if constexpr (is_view<typename Problem::c_operand>::value) {
        q.c = p.c;
    } else {
        auto const& first = p.c.at[0];
        q.c = first.to;
        fusion.targets = p.c.targets;
        if (fusion.targets == 1) q.alpha = q.alpha * first.factor, q.beta = first.keep, q.e = first.from;
        for (int t = 0; t < fusion.targets; ++t)
            fusion.target[t] = {p.c.at[t].to, p.c.at[t].factor, p.c.at[t].keep, p.c.at[t].from};
    }
    return q;
}

// One product as kernels take it. The product is turned if this makes the columns of C have its smaller stride, or
// gives a C of few rows few columns. If one operand is narrower than the other, only run_as_stored() multiplies: either
// C has few columns and A is the narrower, or either operand is widened on the way to shared memory.
template <class Problem>
class cuda_product {
    using A = typename Problem::a_type;
    using B = typename Problem::b_type;
    using In = typename Problem::wide_type;
    using Out = typename Problem::c_type;
    using Scalar = typename Problem::scalar;
    using Fusion = cuda_fusion<In, Out>;

public:
    cuda_product(cuda_session& session, CUstream stream, Problem const& given, bool invariant,
                 Fusion const* fusion = nullptr) requires has_one_type<Problem>
        : session_(session),
          stream_(stream),
          turned_(turns(session.device(), given, invariant)),
          p_(turned_ ? given.transposed() : given),
          epilogue_(given.epilogue),
          fusion_(fusion) {}

    // `oriented` is turned already, as kernels take it.
    cuda_product(cuda_session& session, CUstream stream, Problem const& oriented,
                 bool turned) requires(!has_one_type<Problem>)
        : session_(session), stream_(stream), turned_(turned), p_(oriented), epilogue_(oriented.epilogue),
          fusion_(nullptr) {}

    // Whether to turn the product. In either orientation, C may have few columns, and A may be read as it lies.
    static bool turns(cuda_device const& d, Problem const& p, bool invariant) {
        cuda_sides const s = sides_of(p), other{s.n, s.m, s.k, s.count};
        constexpr char type = type_letter<In>();
        if (!invariant && reads_shifted(type, sizeof(In), d, s, layout_of(p))) return false;
        if (!invariant && reads_shifted(type, sizeof(In), d, other, layout_of(p.transposed()))) return true;
        return turns(p, invariant);
    }
    static bool turns(Problem const& p, bool invariant) {
        // An imaginary part adds up two products. Turning would exchange the first and the second.
        if (invariant && complex_like<In>) return false;
        cuda_sides const s = sides_of(p);
        constexpr char type = type_letter<In>();
        if (is_narrow(type, s)) return false;
        return oriented(type, s) != s || (s.n != 1 && (s.m == 1 || rows_are_closer(p.c)));
    }

    // Checks what would fail on the device, before anything is queued.
    status check(bool pointers) const {
        if (status s = session_.ready(); !s) return s;
        auto const can_follow = [&](auto const& v) { return session_.check_pointer(v.data.address); };
        if (pointers && fusion_) {
            for (auto const* sum : {&fusion_->a, &fusion_->b})
                for (int t = 1; t < sum->terms; ++t)
                    if (status s = can_follow(sum->term[t]); !s) return s;
            for (int t = 1; t < fusion_->targets; ++t) {
                auto const& target = fusion_->target[t];
                if (status s = can_follow(target.to); !s) return s;
                if (status s = target.keep != Scalar(0) ? can_follow(target.from) : status(); !s) return s;
            }
        }
        return check(session_, p_, epilogue_, pointers);
    }
    static status check(cuda_session const& session, Problem const& p, cuda_epilogue<Scalar> const& epilogue,
                        bool pointers) {
        if (pointers) {
            void const* const all[] = {p.a.data.address, p.b.data.address, p.c.data.address,
                                       p.beta != Scalar(0) ? p.e.data.address : p.c.data.address};
            for (void const* const x : all)
                if (status s = session.check_pointer(x); !s) return s;
        }
        if (status s = check_sides(p, "cuda"); !s) return s;
        return epilogue.check();
    }

    cuda_sides sides() const { return sides_of(p_); }
    cuda_layout layout() const { return layout_of(p_); }
    static cuda_layout layout_of(Problem const& p) {
        cuda_line_view<A> const a = cuda_line_view_of<A>(p.a, p.a_step, p.count);
        cuda_line_view<B> const b = cuda_line_view_of<B>(transposed(p.b), p.b_step, p.count);
        bool const whole = reinterpret_cast<std::uintptr_t>(a.view.data.address) % sizeof(A) == 0;
        return {a.along_k, b.along_k, whole && a.view.col_stride == 1, narrower<A>, narrower<B>};
    }
    // The bytes of an element, as cuda_layout has them: 0 if T is not narrower.
    template <class T>
    static constexpr short narrower = std::is_same_v<T, In> ? 0 : sizeof(T);
    // Whether threads that gather can read the operands.
    bool lies_in_lines() const {
        return are_lines(cuda_lines_of(line_view_a())) && are_lines(cuda_lines_of(line_view_b()));
    }

    // The arguments of an oriented product.
    static cuda_arguments<Scalar> arguments_of(Problem const& p, bool turned) {
        cuda_arguments<Scalar> x;
        x.a = cuda_place(p.a, p.a_step), x.b = cuda_place(p.b, p.b_step);
        x.e = cuda_place(p.e, p.e_step), x.c = cuda_place(p.c, p.c_step);
        x.row0 = p.row0, x.col0 = p.col0;
        x.m = static_cast<int>(p.c.rows), x.n = static_cast<int>(p.c.cols);
        x.k = static_cast<int>(p.a.cols), x.count = static_cast<int>(p.count);
        x.flags = flags_of(p, turned);
        x.alpha = p.alpha, x.beta = p.beta;
        return x;
    }
    // A cluster takes tiles that lie together, as many as it has blocks. For few columns in order all blocks of a
    // cluster have the same tile.
    static index_t tiles_of(cuda_tile const& tile, cuda_sides const& s) {
        if (tile.engine == cuda_engine::narrow && tile.cluster > 1)
            return ((s.m - 1) / tile.m + 1) * tile.cluster;
        index_t const below = tile.engine == cuda_engine::narrow ? tile.group : tile.cluster;
        index_t const beside = tile.beside;
        return ((s.m - 1) / (tile.m * below) + 1) * below * (((s.n - 1) / (tile.n * beside) + 1) * beside);
    }

    // Bytes that a product may take besides: for sums of parts of k, and for copies of the operands.
    static std::size_t workspace(cuda_choice const& choice, cuda_sides const& s, bool sums = false) {
        std::size_t bytes = 0;
        if constexpr (complex_like<In>) {
            if (choice.by_reals) {
                using R = real_t<In>;
                cuda_sides const real = of_reals(s);
                cuda_choice parts = choice;
                parts.by_reals = false, parts.tile.engine = cuda_engine::direct; // nothing else is copied
                bytes = cuda_lines<R>::bytes(real.k, real.m, 1) + cuda_lines<R>::bytes(real.k, real.n, 1) +
                        sum_bytes(s.m * fours(s.n)) +
                        cuda_product<real_problem>::workspace(parts, oriented(type_letter<R>(), real));
                if (sums)
                    bytes +=
                        cuda_lines<In>::bytes_either(s.m, s.k, 1) + cuda_lines<In>::bytes_either(s.k, s.n, 1);
                return bytes;
            }
        }
        if (choice.part > 0 && !choice.together) bytes += sum_bytes(sums_of_parts(choice, s));
        if (choice.tile.engine == cuda_engine::narrow && !choice.invariant)
            bytes += cuda_lines<In>::bytes(s.n, s.k, s.count);
        if (sums || reads_lines(choice.tile.engine))
            bytes += cuda_lines<In>::bytes_either(s.m, s.k, s.count) +
                     cuda_lines<In>::bytes_either(s.k, s.n, s.count);
        return bytes;
    }

    // Bytes for these operands, without copies that are not made.
    std::size_t workspace(cuda_choice const& choice) const {
        bool const sums = fusion_ && (fusion_->a.terms > 1 || fusion_->b.terms > 1);
        bool const narrow = choice.tile.engine == cuda_engine::narrow;
        if (sums || choice.by_reals || !(narrow || reads_lines(choice.tile.engine)))
            return workspace(choice, sides(), sums);
        auto const copied = []<class T>(cuda_line_view<T> const& x, bool along_k) -> std::size_t {
            cuda_lines<T> const l = cuda_lines_of(x);
            if (x.along_k != along_k) return cuda_lines<T>::bytes(l.length, l.lines, l.count);
            return l.can_be_fetched() ? 0 : cuda_lines<T>::bytes(l.lines, l.length, l.count);
        };
        cuda_choice parts = choice;
        parts.tile.engine = cuda_engine::blocked; // nothing is copied
        std::size_t const bytes = workspace(parts, sides());
        cuda_form const form = form_of(choice);
        if (narrow) {
            return bytes + (copies_b(choice, form) ? copied(line_view_b(), true) : 0);
        }
        if (!form.dense && choice.whole == 0) return bytes;
        return bytes + copied(line_view_a(), form.a_along_k) + copied(line_view_b(), form.b_along_k);
    }

    // Runs the product with operands that are widened while they are read. For few columns, `choice` has the parts of k
    // of a choice of narrow.
    status run_as_stored(cuda_choice choice, cuda_arena& memory) const {
        cuda_arena::scope const until_return(memory);
        cuda_arguments<Scalar> x = arguments_of(p_, turned_);
        x.part = static_cast<int>(choice.piece);
        if (choice.tile.engine == cuda_engine::narrow) {
            cuda_form const stored = form_of(choice);
            choice.tile =
                tile_for_narrow(p_.c.rows * p_.count, p_.c.cols, p_.a.cols, sizeof(A), sizeof(Scalar),
                                {stored.a_along_k, false, stored.shifted}, session_.device().units);
        }
        return run_parts(choice, form_of(choice), x, memory);
    }

    status run(cuda_choice choice, cuda_arena& memory) {
        cuda_arena::scope const until_return(memory);
        if (choice.by_reals || !reads_lines(choice.tile.engine))
            if (status s = form_sums(memory); !s) return s;
        if constexpr (complex_like<In>)
            if (choice.by_reals) return run_by_reals(choice, memory);
        cuda_arguments<Scalar> x = arguments_of(p_, turned_);
        x.part = static_cast<int>(choice.piece);
        if (choice.tile.engine == cuda_engine::direct) return run_directly(choice, x);
        if (choice.tile.engine == cuda_engine::narrow && choice.invariant) {
            if (x.part == 0) x.part = x.k;
        } else if (choice.tile.engine == cuda_engine::narrow) {
            cuda_form const stored = form_of(choice);
            choice.tile = tile_for_narrow(
                p_.c.rows * p_.count, p_.c.cols, p_.a.cols, sizeof(In), sizeof(Scalar),
                {stored.a_along_k,
                 narrow_on_tensor_cores(type_letter<In>(), session_.device(), p_.c.cols, stored.a_along_k) &&
                     stored.dense,
                 stored.shifted, choice.tile.stages},
                session_.device().units);
        }
        return run_parts(choice, form_of(choice), x, memory);
    }

private:
    // Writes to C; or writes the sums of parts of k to workspace, and then adds them up to C.
    status run_parts(cuda_choice const& choice, cuda_form form, cuda_arguments<Scalar> x,
                     cuda_arena& memory) const {
        if (choice.together) x.part = static_cast<int>(choice.part);
        if (choice.part == 0 || choice.together) return run_tiles(choice, form, x, epilogue_, memory);

        // The sums of parts of k are added up in order, so that the result is always the same.
        bool const tail = choice.whole > 0;
        form.partial = !tail, form.tail = tail, form.spreads &= tail, form.dense |= tail;
        cuda_pointer<Scalar> const partial = memory.take<Scalar>(sums_of_parts(choice, sides()));
        cuda_arguments<Scalar> sums = x, sum = x;
        sums.part = sum.part = static_cast<int>(choice.part);
        sum.a.data = partial.address;
        if (tail) {
            sums.a.data = partial.address;
            sums.count = sum.count = static_cast<int>(choice.whole / choice.tile.blocks_of_cluster());
            sum.alpha = Scalar(1); // parts have it
        } else {
            sums.c.data = partial.address;
            sums.alpha = Scalar(1);
        }
        index_t const runs = tail ? tail_of(choice, sides()) * (choice.tile.m * choice.tile.n / 4)
                                  : p_.c.rows * fours(p_.c.cols) / 4;
        // If there are many parts of few elements, several threads add up each element.
        int const slices = tail || choice.invariant || choice.parts(p_.a.cols) < 16 ? 1
                           : p_.c.rows * p_.c.cols > 100000                         ? 8
                                                                                    : 32;
        cuda_epilogue<Scalar> const none{identity{}};
        return gather(tail ? choice.tile : cuda_tile{}, tail, choice.invariant, runs, slices, sum,
                      [&] { return run_tiles(choice, form, sums, tail ? epilogue_ : none, memory); });
    }

    bool spreads() const { return fusion_ && fusion_->targets > 1; }
    // An operand with its lines as rows; `flipped`: `view` is the transpose of what was given.
    template <class T>
    cuda_line_view<T> line_view(cuda_view<T const> const& view, index_t step, bool flipped,
                                bool from_a) const {
        cuda_line_view<T> x = cuda_line_view_of<T>(view, step, p_.count);
        if constexpr (std::is_same_v<T, In>)
            if (fusion_) {
                auto const& sum = from_a ? fusion_->a : fusion_->b;
                x.term = sum.term, x.terms = sum.terms, x.flipped ^= flipped;
            }
        return x;
    }
    cuda_line_view<A> line_view_a() const { return line_view(p_.a, p_.a_step, turned_, !turned_); }
    cuda_line_view<B> line_view_b() const {
        return line_view(transposed(p_.b), p_.b_step, !turned_, turned_);
    }
    // Forms sums, for kernels that read matrices as they are.
    status form_sums(cuda_arena& memory) {
        cuda_packing<In> copies;
        auto const form = [&](cuda_line_view<In> const& x) {
            cuda_lines<In> const l = copies.add(x, memory);
            return cuda_view<In const>{{l.data}, l.lines, l.length, l.stride, 1};
        };
        if (cuda_line_view<In> const a = line_view_a(); a.is_sum()) {
            p_.a = form(a);
            if (!a.along_k) p_.a = transposed(p_.a);
        }
        if (cuda_line_view<In> const b = line_view_b(); b.is_sum()) {
            p_.b = form(b);
            if (b.along_k) p_.b = transposed(p_.b);
        }
        return copies.run(session_, stream_);
    }
    // Tiles that are in parts where the others are whole.
    static index_t tail_of(cuda_choice const& choice, cuda_sides const& s) {
        return tiles_of(choice.tile, s) - choice.whole;
    }
    // Rows of workspace begin at multiples of four; those of a tail are whole tiles.
    static index_t sums_of_parts(cuda_choice const& choice, cuda_sides const& s) {
        if (choice.whole > 0) return choice.parts(s.k) * tail_of(choice, s) * choice.tile.m * choice.tile.n;
        return choice.parts(s.k) * s.m * fours(s.n);
    }
    static index_t fours(index_t n) { return (n + 3) / 4 * 4; }
    static std::size_t sum_bytes(index_t count) {
        return cuda_arena::rounded(static_cast<std::size_t>(count) * sizeof(Scalar));
    }
    // Calls `multiply`, which writes sums to workspace. Then adds up these sums, in runs of four. The kernel is
    // compiled before anything is queued.
    template <class F>
    status gather(cuda_tile shared, bool tail, bool invariant, index_t runs, int slices,
                  cuda_arguments<Scalar> const& sum, F const& multiply) const {
        cuda_form gathered;
        gathered.tail = tail, gathered.spreads = spreads(), gathered.invariant = invariant;
        if (!tail) shared.stages = static_cast<short>(slices); // stands for the definition
        auto compiled =
            session_.kernel({cuda_operation::gather,
                             {type_letter<In>(), type_letter<Out>()},
                             shared,
                             gathered,
                             epilogue_.text()},
                            [&] { return cuda_gather_source<In, Out>(shared, gathered, slices, epilogue_); });
        if (!compiled) return compiled.take_status();
        if (status s = multiply(); !s) return s;
        return launch(**compiled, gathered, (runs - 1) / (256 / slices) + 1, 256, sum);
    }

    // Multiplies complex numbers as twice as many real ones (kernels/reals.cu.hpp), one product of the batch after
    // another. The product of real numbers writes C if that product can do all that is asked for.
    using real_problem = dense_problem<real_t<In>, real_t<In>, real_t<In>, cuda_memory>;
    status run_by_reals(cuda_choice choice, cuda_arena& memory) {
        using R = real_t<In>;
        choice.by_reals = false;
        cuda_sides const all = sides(), real = of_reals(all);
        cuda_pointer<R> const b = memory.take<R>(real.k * cuda_lines<R>::rounded(real.n));
        cuda_line_view<In> const given = line_view_a();
        cuda_lines<R> lines{reinterpret_cast<R const*>(given.view.data.address),
                            all.m,
                            real.k,
                            1,
                            2 * given.view.row_stride,
                            0};
        if (all.m == 1) lines.stride = cuda_lines<R>::rounded(real.k);
        bool const can_be_fetched = form_for(choice.tile, sizeof(R), {}).a_along_k &&
                                    lines.can_be_fetched() && 2 * p_.a_step % cuda_lines<R>::unit == 0;
        bool const as_it_lies = given.along_k && (given.view.col_stride == 1 || all.k == 1) &&
                                (can_be_fetched || !reads_lines(choice.tile.engine));
        cuda_pointer<R> a;
        if (!as_it_lies) a = memory.take<R>(real.k * cuda_lines<R>::rounded(real.m));
        bool const by_itself = epilogue_.text().empty() && !spreads() && p_.c.col_stride == 1 &&
                               p_.alpha.imag() == 0 && p_.beta.imag() == 0 &&
                               (p_.beta == Scalar(0) || (p_.e.col_stride == 1 && !p_.e.conjugate));
        cuda_pointer<R> sums;
        if (!by_itself) sums = memory.take<R>(2 * all.m * fours(all.n));

        for (index_t i = 0; i < p_.count; ++i) {
            Problem const one = p_.at(i);
            real_problem q;
            q.b = {b, real.k, real.n, cuda_lines<R>::rounded(real.n), 1};
            if (status s = copy_as_reals(one.b, one.b.conjugate, one.a.conjugate, true, q.b); !s) return s;
            if (as_it_lies) {
                q.a = {{reinterpret_cast<R const*>(one.a.data.address)}, all.m, real.k, lines.stride, 1};
            } else {
                q.a = {a, real.k, real.m, cuda_lines<R>::rounded(real.m), 1};
                if (status s = copy_as_reals(transposed(one.a), false, false, false, q.a); !s) return s;
                q.a = transposed(q.a);
            }
            auto const as_real = [&](auto const& v) {
                using T = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(v.data.address)>>,
                                             R const, R>;
                return cuda_view<T>{
                    {reinterpret_cast<T*>(v.data.address)}, v.rows, 2 * v.cols, 2 * v.row_stride, 1};
            };
            auto const multiply = [&] {
                cuda_product<real_problem> product(session_, stream_, q, choice.invariant);
                return product.run(choice, memory);
            };
            if (by_itself) {
                q.alpha = one.alpha.real(), q.beta = one.beta.real();
                q.c = as_real(one.c), q.e = as_real(added_or_c(one));
                if (status s = multiply(); !s) return s;
                continue;
            }
            q.c = {sums, real.m, real.n, 2 * fours(all.n), 1}, q.e = q.c;
            cuda_arguments<Scalar> sum = arguments_of(one, turned_);
            sum.a.data = sums.address, sum.part = sum.k;
            if (status s = gather({}, false, choice.invariant, all.m * fours(all.n) / 4, 1, sum, multiply);
                !s)
                return s;
        }
        return {};
    }
    // `other_conjugated`: the operand beside x is.
    template <class To>
    status copy_as_reals(cuda_view<In const> const& x, bool conjugated, bool other_conjugated, bool twice,
                         To const& to) const {
        using R = real_t<In>;
        bool const across = magnitude(x.row_stride) < magnitude(x.col_stride);
        return cuda_operations(session_, stream_)
            .launch(as_reals<In>(twice, across), ((x.rows - 1) / 32 + 1) * ((x.cols - 1) / 32 + 1),
                    cuda_view<In const>(x), R(conjugated ? -1 : 1), R(other_conjugated ? -1 : 1),
                    cuda_pointer<R>{const_cast<R*>(to.data.address)}, to.row_stride, x.rows, x.cols);
    }
    template <class T>
    static bool are_lines(cuda_lines<T> const& x) {
        return x.stride >= x.length;
    }
    // For a kernel for few columns: whether B has lines along k that the kernel reads as vectors, or as the words that
    // tensor cores take. copies_b() says whether the kernel needs a copy of B with such lines.
    bool has_lines_of_b(bool words) const {
        cuda_line_view<B> const b =
            cuda_line_view_of<B>(transposed(p_.b), p_.b_step, p_.b_step == 0 ? 1 : p_.count);
        cuda_lines<B> const lines = cuda_lines_of(b);
        words &= has_one_type<Problem> &&
                 narrow_on_tensor_cores(type_letter<In>(), session_.device(), p_.b.cols, true);
        return b.along_k && (lines.can_be_fetched() || (words && lines.are_words()));
    }
    bool copies_b(cuda_choice const& choice, cuda_form const& form) const {
        return choice.tile.engine == cuda_engine::narrow && !choice.invariant && form.a_along_k &&
               form.b_along_k && !has_lines_of_b(form.words);
    }
    // The form for the operands as they lie, or as their copies will lie.
    cuda_form form_of(cuda_choice const& choice) const {
        cuda_tile const& tile = choice.tile;
        cuda_form f;
        f.invariant = choice.invariant, f.together = choice.together;
        f.pieces = choice.piece > 0 && choice.part == 0 && tile.engine != cuda_engine::narrow;
        f.a_along_k = line_view_a().along_k, f.b_along_k = line_view_b().along_k;
        f.spreads = spreads(), f.direct = choice.shifted;
        if (tile.engine == cuda_engine::small) {
            auto const dense = [&]<class T>(cuda_line_view<T> const& x) {
                index_t const size = x.view.rows * x.view.cols;
                return reinterpret_cast<std::uintptr_t>(x.view.data.address) % 16 == 0 &&
                       size * tile.group * static_cast<index_t>(sizeof(T)) % 16 == 0 && x.step == size &&
                       x.view.col_stride == 1 && (x.view.row_stride == x.view.cols || x.view.rows == 1);
            };
            f.dense = dense(line_view_a()) && dense(line_view_b());
        }
        if (reads_lines(tile.engine)) {
            auto const a = line_view_a();
            auto const b = line_view_b();
            auto const of_a = cuda_lines_of(a);
            auto const of_b = cuda_lines_of(b);
            cuda_form const taken = form_for(tile, sizeof(In), f);
            bool const lie = are_lines(of_a) && are_lines(of_b) && a.along_k == taken.a_along_k &&
                             b.along_k == taken.b_along_k;
            bool const by_words =
                takes_words(tile, sizeof(In)) && lie && of_a.are_words() && of_b.are_words();
            f.shifted = takes_words(tile, sizeof(In)) && choice.shifted && lie && !by_words;
            bool const simt = tile.engine == cuda_engine::simt;
            f.leaves_out = choice.part == 0 && leaves_out(tile, p_.a.cols);
            bool const gathered =
                choice.whole == 0 && takes_any_lines(tile) && (!simt || (lie && choice.shifted));
            bool const copied = !gathered && !by_words && !f.shifted;
            f.dense = has_one_type<Problem> && ((of_a.can_be_fetched() && of_b.can_be_fetched()) || copied ||
                                                a.is_sum() || b.is_sum()); // then what has gaps is copied
            f.shifted &= !f.dense;
            if (by_words && !f.dense) f.a_unit = of_a.aligned(), f.b_unit = of_b.aligned();
            if (simt && !f.dense) {
                bool const turns = turns_on_the_way(tile);
                f.a_turned = turns && f.a_along_k, f.b_turned = turns && f.b_along_k;
                f.a_along_k &= !turns, f.b_along_k &= !turns;
                // The unit of copies: up to 16 bytes, once widened; up to two terms, where the operand that is turned
                // is narrower.
                auto const unit = [](short all, std::size_t size, bool turned) {
                    short const most = !turned ? 4 : size < sizeof(In) ? 2 : 1;
                    return all < most ? all : most;
                };
                f.a_unit = unit(of_a.aligned(), sizeof(A), f.a_turned);
                f.b_unit = unit(of_b.aligned(), sizeof(B), f.b_turned);
            }
        }
        if (tile.engine == cuda_engine::narrow) {
            auto const a = line_view_a();
            auto const begins = reinterpret_cast<std::uintptr_t>(a.view.data.address) |
                                static_cast<std::uintptr_t>(a.view.row_stride | a.step) * sizeof(A);
            f.words =
                begins % 16 != 0 && begins % 4 == 0 && sizeof(A) < 4 && a.along_k && a.view.col_stride == 1;
            // Vectors may read beyond the rows of a line along m, up to the next line.
            bool const lines = a.view.col_stride == 1 && (a.along_k || a.view.row_stride >= a.view.cols);
            f.dense = f.words || (begins % 16 == 0 && lines);
            f.shifted = f.invariant ? !(f.dense && !f.words) && sizeof(In) == 2 && a.view.col_stride == 1
                        : a.along_k ? choice.shifted
                                    : !f.dense && lines && begins % sizeof(A) == 0;
            f.words &= !f.shifted, f.dense |= f.shifted;
            bool const in_lines = has_lines_of_b(f.words);
            // Tensor cores read any other B as it lies, if its terms are at most a sector of memory apart.
            bool const may_stay =
                has_one_type<Problem> &&
                narrow_on_tensor_cores(type_letter<In>(), session_.device(), p_.b.cols, true) &&
                magnitude(p_.b.row_stride) * static_cast<index_t>(sizeof(In)) <= 32;
            if (choice.invariant)
                f.b_along_k = f.dense && (p_.b.cols == 1 || line_view_b().along_k);
            else if (a.along_k)
                f.b_along_k = !f.shifted && (in_lines || !may_stay || !f.dense);
            else
                f.b_along_k = !f.shifted && f.dense && p_.b.cols > 2 && in_lines;
        }
        return form_for(tile, sizeof(In), f);
    }
    // Calls f with the arguments of a kernel: with all targets, if it spreads its result.
    template <class F>
    status with_targets(cuda_form const& form, cuda_arguments<Scalar> const& x, F const& f) const {
        if (!form.spreads) return f(x);
        cuda_spread_arguments<Scalar> all;
        static_cast<cuda_arguments<Scalar>&>(all) = x;
        all.targets = fusion_->targets;
        bool in_runs = true;
        for (int t = 0; t < all.targets; ++t) {
            auto const& target = fusion_->target[t];
            auto const oriented = [&](auto const& v) { return cuda_place(turned_ ? transposed(v) : v); };
            bool const adds = target.keep != Scalar(0);
            auto& to = all.at[t];
            to.c = oriented(target.to), to.e = adds ? oriented(target.from) : to.c;
            to.factor = target.factor, to.beta = target.keep;
            if (adds) to.flags |= cuda_flag::adds;
            if (adds && target.from.conjugate) to.flags |= cuda_flag::conjugate_e;
            in_runs &= to.c.col == 1 && (reinterpret_cast<std::uintptr_t>(to.c.data) % 16 |
                                         static_cast<std::uintptr_t>(to.c.row) * sizeof(Out) % 16) == 0;
        }
        if (in_runs) all.flags |= cuda_flag::targets_in_runs;
        return f(all);
    }
    // Blocks of each multiprocessor, if blocks are to be shared out evenly; 0: there are so many blocks that this makes
    // no difference.
    unsigned spread_out(index_t blocks, cuda_tile const& tile) const {
        int const all = session_.device().units;
        index_t const each =
            (blocks - 1) / (tile.engine == cuda_engine::narrow ? units_for(tile, all) : all) + 1;
        return each < 16 ? static_cast<unsigned>(each) : 0;
    }
    // Which tiles begin with different steps of k (first_step() in pipeline.cu.hpp): those of a single row or column of
    // tiles, if the operand that each tile reads alone lies along k, and the operand that tiles share stays in the
    // second-level cache.
    int first_steps(cuda_tile const& on_c, cuda_form const& form) const {
        constexpr index_t most = (index_t{4} << 20) / static_cast<index_t>(sizeof(In));
        cuda_sides const s = sides();
        bool const a_along_k = form.a_along_k || form.a_turned, b_along_k = form.b_along_k || form.b_turned;
        if (s.n <= on_c.n && a_along_k && s.n * s.k <= most) return cuda_flag::begins_by_row;
        if (s.m <= on_c.m && b_along_k && s.m * s.k <= most) return cuda_flag::begins_by_column;
        return 0;
    }
    // Whether C is stored sooner by lines of 128 bytes than by sectors of 32: where rows share sectors, which are then
    // written in parts, and where C has to leave the second-level cache while it is written.
    bool gains_by_lines(cuda_operand const& c) const {
        auto const begins =
            reinterpret_cast<std::uintptr_t>(c.data) | static_cast<std::uintptr_t>(c.row) * sizeof(Out);
        auto const bytes = static_cast<std::size_t>(p_.c.rows * p_.c.cols * p_.count) * sizeof(Out);
        return begins % 32 != 0 || bytes > session_.device().cache_bytes;
    }
    status launch(cuda_compiled const& compiled, cuda_form const& form, index_t blocks, int threads,
                  cuda_arguments<Scalar> const& x, unsigned each = 0, unsigned cluster = 1) const {
        if (blocks > device_longest)
            return error(errc::unsupported, "cuda: a product is too large for one launch; multiply blocks");
        return with_targets(form, x, [&](auto const& arguments) {
            cuda_grid const grid{.blocks = static_cast<unsigned>(blocks),
                                 .threads = static_cast<unsigned>(threads),
                                 .cluster = cluster,
                                 .each = each};
            return session_.launch(stream_, compiled, grid, arguments, epilogue_.bytes());
        });
    }

    status run_directly(cuda_choice const& choice, cuda_arguments<Scalar> const& x) const {
        cuda_form form;
        form.spreads = spreads(), form.invariant = choice.invariant, form.pieces = choice.piece > 0;
        cuda_kernel_key const key{
            cuda_operation::product, {type_letter<In>(), type_letter<Out>()}, {}, form, epilogue_.text()};
        auto compiled = session_.kernel(key, [&] {
            std::string definitions = form.spreads ? "#define SPREADS 1\n" : "";
            if (form.invariant) definitions += "#define INVARIANT 1\n";
            if (form.pieces) definitions += "#define PIECES 1\n";
            return cuda_source_of<In, Out>("direct", cuda_direct_text, epilogue_, definitions);
        });
        if (!compiled) return compiled.take_status();
        return launch(**compiled, form, (p_.c.rows * p_.c.cols * p_.count - 1) / 128 + 1, 128, x);
    }

    // Writes to C, or writes sums of parts of k to workspace.
    status run_tiles(cuda_choice const& choice, cuda_form const& form, cuda_arguments<Scalar> const& x,
                     cuda_epilogue<Scalar> const& epilogue, cuda_arena& memory) const {
        cuda_tile const& tile = choice.tile;
        constexpr char of_a = narrower<A> ? type_letter<A>() : char{},
                       of_b = narrower<B> ? type_letter<B>() : char{};
        auto compiled =
            session_.kernel({cuda_operation::product,
                             {type_letter<In>(), type_letter<Out>(), of_a, of_b},
                             tile,
                             form,
                             epilogue.text()},
                            [&] { return cuda_product_source<In, Out, A, B>(tile, form, epilogue); });
        if (!compiled) return compiled.take_status();
        if (tile.engine == cuda_engine::small) {
            index_t const groups = (p_.count - 1) / tile.group + 1;
            index_t const places = static_cast<index_t>(session_.device().units) * (*compiled)->resident;
            bool const stay = tile.stages > 1 && groups > places;
            return launch(**compiled, form, stay ? places : groups, threads_of(tile), x);
        }
        cuda_tile const on_c = lying_on_c(tile, form, sizeof(In));
        index_t const parts = choice.parts(p_.a.cols);
        index_t const tiles =
            form.tail ? choice.whole + tail_of(choice, sides()) * parts
                      : tiles_of(on_c, sides()) * (form.partial || form.together ? parts : p_.count);
        auto const cluster = static_cast<unsigned>(form.together ? parts : tile.blocks_of_cluster());
        if constexpr (narrower<B> == 0)
            if (copies_b(choice, form)) {
                cuda_packing<In> copies;
                cuda_lines<In> const b =
                    fetchable(cuda_line_view_of<In>(transposed(p_.b), p_.b_step, p_.count), true, copies,
                              memory); // formed, if it is a sum
                if (status s = copies.run(session_, stream_); !s) return s;
                cuda_arguments<Scalar> with_copy = x;
                with_copy.b = {const_cast<In*>(b.data), 1, b.stride, b.step};
                return launch(**compiled, form, tiles, threads_of(tile), with_copy, spread_out(tiles, tile),
                              cluster);
            }
        if (reads_lines(tile.engine))
            return run_lines(**compiled, choice, form, tiles, cluster, x, epilogue, memory);
        return launch(**compiled, form, tiles, threads_of(tile), x, spread_out(tiles, tile), cluster);
    }
    // Runs tiles whose operands are aligned lines, or copies with aligned lines.
    status run_lines(cuda_compiled const& compiled, cuda_choice const& choice, cuda_form const& form,
                     index_t tiles, unsigned cluster, cuda_arguments<Scalar> const& x,
                     cuda_epilogue<Scalar> const& epilogue, cuda_arena& memory) const {
        cuda_tile const &tile = choice.tile, on_c = lying_on_c(tile, form, sizeof(In));
        cuda_lines<A> a = cuda_lines_of(line_view_a());
        cuda_lines<B> b = cuda_lines_of(line_view_b());
        if constexpr (has_one_type<Problem>)
            if (form.dense) {
                cuda_packing<In> copies;
                a = fetchable(line_view_a(), form.a_along_k, copies, memory);
                b = fetchable(line_view_b(), form.b_along_k, copies, memory);
                if (status s = copies.run(session_, stream_); !s) return s;
            }
        cuda_arguments<Scalar> arguments = x;
        // Threads read these operands as lines. A single line gets a stride to an aligned place.
        if (!fetches(tile.engine) || (tile.engine == cuda_engine::simt && !form.dense)) {
            bool const a_along_k = form.a_along_k || form.a_turned,
                       b_along_k = form.b_along_k || form.b_turned;
            arguments.a = {a.data, a_along_k ? a.stride : 1, a_along_k ? 1 : a.stride, a.step};
            arguments.b = {b.data, b_along_k ? 1 : b.stride, b_along_k ? b.stride : 1, b.step};
        }
        if (!fetches(tile.engine))
            return launch(compiled, form, tiles, threads_of(tile), arguments, spread_out(tiles, tile),
                          cluster);
        index_t const line = 128 / static_cast<index_t>(sizeof(In));
        // A box along k has no more lines than the operand. wgmma and fp64 count the bytes of such a box, and wait for
        // so many bytes.
        auto const map = [&]<class T>(CUtensorMap& to, cuda_lines<T> const& l, bool along_k, index_t side,
                                      index_t all, index_t terms) {
            bool const swizzled = tile.engine != cuda_engine::simt;
            if (along_k) return cuda_map_of(session_, to, l, line, swizzled && all < side ? all : side, true);
            return cuda_map_of(session_, to, l, swizzled ? line : side, terms, swizzled);
        };
        CUtensorMap a_map{}, b_map{};
        if (form.dense) {
            if (status s = map(a_map, a, form.a_along_k, on_c.m / tile.beside, x.m, tile.k / tile.beside); !s)
                return s;
            if (status s = map(b_map, b, form.b_along_k, form.b_along_k ? lines_fetched(on_c) : on_c.n, x.n,
                               terms_fetched(on_c));
                !s)
                return s;
        }
        if (!choice.invariant) arguments.flags |= first_steps(on_c, form);
        if (tile.engine == cuda_engine::fp64 && gains_by_lines(x.c))
            arguments.flags |= cuda_flag::stores_lines;
        cuda_grid grid;
        grid.threads = static_cast<unsigned>(threads_of(tile, form)), grid.cluster = cluster;
        int resident = compiled.resident;
        // There may be room for more blocks that gather than the model expects. Each block would then have fewer tiles,
        // and the last tiles would run alone for longer.
        int const sums = tile.micro_m * tile.micro_n * (form.pieces ? 2 : 1);
        if (tile.engine == cuda_engine::simt && !form.dense && blocks_with_sums(tile, sums) < resident)
            resident = blocks_with_sums(tile, sums);
        index_t const most = index_t{units_for(tile, session_.device().units)} * resident;
        grid.blocks = static_cast<unsigned>(tiles < most || form.together ? tiles : most);
        grid.each = spread_out(grid.blocks, tile);
        if (tile.engine == cuda_engine::simt)
            return with_targets(form, arguments, [&](auto const& given) {
                return session_.launch(stream_, compiled, grid, a_map, b_map, given, epilogue.bytes());
            });
        // C has a map as well, if the hardware can store C: in boxes of 128 bytes by as many rows as the kernel has.
        // For the map, rows end at a multiple of 16 bytes: the hardware fetches no further than rows go, but stores the
        // bytes that round them up.
        CUtensorMap c_map{};
        index_t const wide = 128 / static_cast<index_t>(sizeof(Out));
        cuda_lines<Out> const c{
            static_cast<Out const*>(x.c.data), p_.c.rows, p_.c.cols, p_.count, p_.c.row_stride, p_.c_step};
        bool const has_boxes = tile.engine == cuda_engine::fp64 ? sizeof(Out) == 8 : on_c.n >= wide;
        if (has_boxes && !form.partial && !form.together && !form.spreads && p_.beta == Scalar(0) &&
            p_.c.col_stride == 1 && c.length % c.unit == 0 && c.can_be_fetched()) {
            index_t const rows = is_turned(tile, form, sizeof(In)) ? 32 : 16;
            if (status s = cuda_map_of(session_, c_map, c, wide, rows, true); !s) return s;
            arguments.flags |= cuda_flag::c_is_mapped;
        }
        return with_targets(form, arguments, [&](auto const& given) {
            return session_.launch(stream_, compiled, grid, a_map, b_map, c_map, given, epilogue.bytes());
        });
    }

    // The operand itself, or a copy in memory that the hardware can fetch.
    static cuda_lines<In> fetchable(cuda_line_view<In> x, bool along_k, cuda_packing<In>& copies,
                                    cuda_arena& memory) {
        if (x.along_k != along_k) {
            x.transpose();
        } else if (cuda_lines<In> const lines = cuda_lines_of(x); !x.is_sum() && lines.can_be_fetched()) {
            return lines;
        }
        return copies.add(x, memory);
    }

    cuda_session& session_;
    CUstream stream_;
    bool turned_;
    Problem p_;
    cuda_epilogue<Scalar> epilogue_;
    Fusion const* fusion_;
};

STRATAGEMM_END
